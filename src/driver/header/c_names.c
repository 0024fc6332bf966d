/* Lists of words in lines, each word followed by a space.  The library's names are those of C11 and of POSIX.1-2008
 * with XSI that glibc has as symbols, and what compilers know as functions of their own. */
#include "driver/header/c_names.h"

#include <string.h>

static const char *const keywords[] = {
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class ",
    "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype ",
    "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if ",
    "inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected ",
    "public register reinterpret_cast requires restrict return short signed sizeof static static_assert ",
    "static_cast struct switch template this thread_local throw true try typedef typeid typename typeof ",
    "typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq _Alignas _Alignof _Atomic ",
    "_Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local ",
    NULL,
};

static const char *const macros[] = {
    "assert complex errno far fpclassify i386 imaginary isfinite isgreater isgreaterequal isinf isless ",
    "islessequal islessgreater isnan isnormal isunordered linux major math_errhandling max min minor near ",
    "noreturn offsetof setjmp signbit small stderr stdin stdout va_arg va_copy va_end va_start BUFSIZ ",
    "CHAR_BIT CHAR_MAX CHAR_MIN CLOCKS_PER_SEC DBL_EPSILON DBL_MAX DBL_MIN DOMAIN EOF ERANGE EXIT_FAILURE ",
    "EXIT_SUCCESS FLT_EPSILON FLT_MAX FLT_MIN FLT_RADIX HUGE_VAL I INFINITY INT16_MAX INT32_MAX INT64_MAX ",
    "INT8_MAX INT_MAX INT_MIN LONG_MAX LONG_MIN M_E M_PI NAN NULL OVERFLOW PATH_MAX PTRDIFF_MAX RAND_MAX ",
    "SCHAR_MAX SHRT_MAX SIGINT SIGTERM SIZE_MAX UCHAR_MAX UINT_MAX UNDERFLOW sigsetjmp unix ",
    "INT8_C INT16_C INT32_C INT64_C INTMAX_C UINT8_C UINT16_C UINT32_C UINT64_C UINTMAX_C INT8_MIN INT16_MIN ",
    "INT32_MIN INT64_MIN INTMAX_MIN INTMAX_MAX UINTMAX_MAX INTPTR_MIN INTPTR_MAX UINTPTR_MAX PTRDIFF_MIN ",
    "UINT8_MAX UINT16_MAX UINT32_MAX UINT64_MAX INT_LEAST8_MAX INT_LEAST16_MAX INT_LEAST32_MAX INT_LEAST64_MAX ",
    "INT_FAST8_MAX INT_FAST16_MAX INT_FAST32_MAX INT_FAST64_MAX SIG_ATOMIC_MAX SIG_ATOMIC_MIN WCHAR_MAX ",
    "WCHAR_MIN WINT_MAX WINT_MIN ",
    NULL,
};

static const char *const types[] = {
    "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t uintmax_t ",
    "size_t ssize_t ptrdiff_t max_align_t FILE DLTensor DLDevice ",
    NULL,
};

static const char *const library[] = {
    "a64l abort abs accept accept4 access acos acosf acosh acoshf acoshl acosl alarm aligned_alloc alloca ",
    "alphasort asctime asctime_r asin asinf asinh asinhf asinhl asinl at_quick_exit atan atan2 atan2f atan2l ",
    "atanf atanh atanhf atanhl atanl atexit atof atoi atol atoll bcmp bcopy bind bsearch btowc bzero cabs cabsf ",
    "cabsl cacos cacosf cacosh cacoshf cacoshl cacosl call_once calloc carg cargf cargl casin casinf casinh ",
    "casinhf casinhl casinl catan catanf catanh catanhf catanhl catanl cbrt cbrtf cbrtl ccos ccosf ccosh ccoshf ",
    "ccoshl ccosl ceil ceilf ceill cexp cexpf cexpl chdir chmod chown cimag cimagf cimagl clearerr clock ",
    "clock_getcpuclockid clock_getres clock_gettime clock_nanosleep clock_settime clog clogf clogl clone close ",
    "closedir closelog cnd_init cnd_signal cnd_wait confstr conj conjf conjl connect copysign copysignf ",
    "copysignl cos cosf cosh coshf coshl cosl cpow cpowf cpowl cproj cprojf cprojl creal crealf creall creat ",
    "csin csinf csinh csinhf csinhl csinl csqrt csqrtf csqrtl ctan ctanf ctanh ctanhf ctanhl ctanl ctermid ctime ",
    "ctime_r dcgettext dgettext difftime dirfd div dlclose dlerror dlopen dlsym dprintf drand48 drem dup dup2 ",
    "dup3 duplocale endhostent endnetent endprotoent endservent environ epoll_create epoll_ctl epoll_wait ",
    "erand48 erf erfc erfcf erfcl erff erfl eventfd execl execle execlp execv execve execvp exit exp exp10 ",
    "exp10f exp10l exp2 exp2f exp2l expf expl expm1 expm1f expm1l fabs fabsf fabsl faccessat fallocate fchdir ",
    "fchmod fchmodat fchown fchownat fclose fcntl fdatasync fdim fdimf fdiml fdopen fdopendir feclearexcept ",
    "fegetenv fegetexceptflag fegetround feholdexcept feof feraiseexcept ferror fesetenv fesetexcept ",
    "fesetexceptflag fesetround fetestexcept feupdateenv fexecve fflush ffs ffsl ffsll fgetc fgetpos fgets ",
    "fgetwc fgetws fileno finite flock flockfile floor floorf floorl fma fmaf fmal fmax fmaxf fmaxl fmemopen ",
    "fmin fminf fminl fmod fmodf fmodl fopen fork fpathconf fprintf fputc fputs fputwc fputws fread free ",
    "freeaddrinfo freelocale freopen frexp frexpf frexpl fscanf fseek fseeko fsetpos fstat fstatat fsync ftell ",
    "ftello ftruncate ftrylockfile funlockfile futimens fwide fwprintf fwrite fwscanf gai_strerror gamma ",
    "getaddrinfo getc getc_unlocked getchar getchar_unlocked getcontext getcwd getdate getdelim getegid ",
    "getentropy getenv geteuid getgid getgroups gethostbyaddr gethostbyname gethostent gethostid gethostname ",
    "getitimer getline getlogin getlogin_r getnameinfo getnetbyaddr getnetbyname getnetent getopt getpeername ",
    "getpgid getpgrp getpid getppid getprotobyname getprotobynumber getprotoent getrandom getservbyname ",
    "getservbyport getservent getsid getsockname getsockopt getsubopt gettext gettimeofday getuid getwc getwchar ",
    "glob globfree gmtime gmtime_r grantpt hcreate hdestroy hsearch htonl htons hypot hypotf hypotl ilogb ilogbf ",
    "ilogbl imaxabs imaxdiv index inet_addr inet_lnaof inet_makeaddr inet_netof inet_network inet_ntoa inet_ntop ",
    "inet_pton initstate insque ioctl isalnum isalnum_l isalpha isalpha_l isascii isatty isblank isblank_l ",
    "iscntrl iscntrl_l isdigit isdigit_l isfinite isgraph isgraph_l isinf isinff islower islower_l isnan isnanf ",
    "isprint isprint_l ispunct ispunct_l isspace isspace_l isupper isupper_l iswalnum iswalnum_l iswalpha ",
    "iswalpha_l iswblank iswblank_l iswcntrl iswcntrl_l iswctype iswctype_l iswdigit iswdigit_l iswgraph ",
    "iswgraph_l iswlower iswlower_l iswprint iswprint_l iswpunct iswpunct_l iswspace iswspace_l iswupper ",
    "iswupper_l iswxdigit iswxdigit_l isxdigit isxdigit_l j0 j0f j0l j1 j1f j1l jn jnf jnl jrand48 kill killpg ",
    "l64a labs lchown lcong48 ldexp ldexpf ldexpl ldiv lfind lgamma lgamma_r lgammaf lgammal link linkat listen ",
    "llabs lldiv llrint llrintf llrintl llround llroundf llroundl localeconv localtime localtime_r lockf log ",
    "log10 log10f log10l log1p log1pf log1pl log2 log2f log2l logb logbf logbl logf logl longjmp lrand48 lrint ",
    "lrintf lrintl lround lroundf lroundl lsearch lseek lstat madvise main makecontext malloc mblen mbrlen ",
    "mbrtowc mbsinit mbsnrtowcs mbsrtowcs mbstowcs mbtowc memccpy memchr memcmp memcpy memmove mempcpy memset ",
    "mincore mkdir mkdirat mkdtemp mkfifo mkfifoat mknod mknodat mkstemp mktime mlock mlockall mmap modf modff ",
    "modfl mount mprotect mrand48 mremap msync mtx_init mtx_lock mtx_unlock munlock munlockall munmap nan nanf ",
    "nanl nanosleep nearbyint nearbyintf nearbyintl newlocale nextafter nextafterf nextafterl nexttoward ",
    "nexttowardf nexttowardl nice nrand48 ntohl ntohs open open_memstream open_wmemstream openat opendir openlog ",
    "pathconf pause pclose perror pipe pipe2 poll popen posix_fadvise posix_fallocate posix_madvise ",
    "posix_memalign posix_openpt posix_spawn posix_spawn_file_actions_addclose posix_spawn_file_actions_adddup2 ",
    "posix_spawn_file_actions_addopen posix_spawn_file_actions_destroy posix_spawn_file_actions_init ",
    "posix_spawnattr_destroy posix_spawnattr_getflags posix_spawnattr_getpgroup posix_spawnattr_getschedparam ",
    "posix_spawnattr_getschedpolicy posix_spawnattr_getsigdefault posix_spawnattr_getsigmask ",
    "posix_spawnattr_init posix_spawnattr_setflags posix_spawnattr_setpgroup posix_spawnattr_setschedparam ",
    "posix_spawnattr_setschedpolicy posix_spawnattr_setsigdefault posix_spawnattr_setsigmask posix_spawnp pow ",
    "pow10 powf powl ppoll prctl pread printf pselect psiginfo psignal pthread_atfork pthread_cond_broadcast ",
    "pthread_cond_destroy pthread_cond_init pthread_cond_signal pthread_cond_wait pthread_create pthread_detach ",
    "pthread_exit pthread_getspecific pthread_join pthread_key_create pthread_kill pthread_mutex_destroy ",
    "pthread_mutex_init pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_once pthread_self ",
    "pthread_setspecific pthread_sigmask ptsname putc putc_unlocked putchar putchar_unlocked putenv puts putwc ",
    "putwchar pwrite qsort quick_exit raise rand rand_r random read readdir readdir_r readlink readlinkat readv ",
    "realloc realpath recv recvfrom recvmsg regcomp regerror regexec regfree remainder remainderf remainderl ",
    "remove remque remquo remquof remquol rename renameat rewind rewinddir rindex rint rintf rintl rmdir round ",
    "roundf roundl scalb scalbln scalblnf scalblnl scalbn scalbnf scalbnl scandir scanf sched_get_priority_max ",
    "sched_get_priority_min sched_getparam sched_getscheduler sched_rr_get_interval sched_setparam ",
    "sched_setscheduler sched_yield seed48 seekdir select sem_close sem_destroy sem_getvalue sem_init sem_open ",
    "sem_post sem_timedwait sem_trywait sem_unlink sem_wait send sendfile sendmsg sendto setbuf setcontext ",
    "setegid setenv seteuid setgid sethostent setitimer setjmp setlocale setlogmask setnetent setpgid setpgrp ",
    "setprotoent setregid setreuid setservent setsid setsockopt setstate setuid setvbuf shm_open shm_unlink ",
    "shutdown sigaction sigaddset sigaltstack sigdelset sigemptyset sigfillset sighold sigignore siginterrupt ",
    "sigismember siglongjmp signal signbit significand sigpause sigpending sigprocmask sigqueue sigrelse sigset ",
    "sigsuspend sigtimedwait sigwait sigwaitinfo sin sincos sincosf sincosl sinf sinh sinhf sinhl sinl sleep ",
    "snprintf sockatmark socket socketpair splice sprintf sqrt sqrtf sqrtl srand srand48 srandom sscanf stat ",
    "statfs stpcpy stpncpy strcasecmp strcasecmp_l strcat strchr strchrnul strcmp strcoll strcoll_l strcpy ",
    "strcspn strdup strerror strerror_l strerror_r strftime strftime_l strlcat strlcpy strlen strncasecmp ",
    "strncasecmp_l strncat strncmp strncpy strndup strnlen strpbrk strptime strrchr strsep strsignal strspn ",
    "strstr strtod strtof strtoimax strtok strtok_r strtol strtold strtoll strtoul strtoull strtoumax strxfrm ",
    "strxfrm_l swab swapcontext swapon swprintf swscanf symlink symlinkat sync syscall sysconf syslog system tan ",
    "tanf tanh tanhf tanhl tanl tcgetpgrp tcsetpgrp tdelete tee telldir tempnam tfind tgamma tgammaf tgammal ",
    "thrd_create thrd_join thrd_yield time timer_create timer_delete timer_getoverrun timer_gettime ",
    "timer_settime timespec_get tmpfile tmpnam toascii tolower tolower_l toupper toupper_l towctrans towctrans_l ",
    "towlower towlower_l towupper towupper_l trunc truncate truncf truncl tsearch tss_create tss_get tss_set ",
    "ttyname ttyname_r twalk tzset umask umount ungetc ungetwc unlink unlinkat unlockpt unsetenv unshare ",
    "uselocale utimensat utimes vdprintf vfork vfprintf vfscanf vfwprintf vfwscanf vprintf vscanf vsnprintf ",
    "vsprintf vsscanf vswprintf vswscanf vwprintf vwscanf wait wait3 wait4 waitid waitpid wcpcpy wcpncpy wcrtomb ",
    "wcscasecmp wcscasecmp_l wcscat wcschr wcscmp wcscoll wcscoll_l wcscpy wcscspn wcsdup wcsftime wcslen ",
    "wcsncasecmp wcsncasecmp_l wcsncat wcsncmp wcsncpy wcsnlen wcsnrtombs wcspbrk wcsrchr wcsrtombs wcsspn ",
    "wcsstr wcstod wcstof wcstoimax wcstok wcstol wcstold wcstoll wcstombs wcstoul wcstoull wcstoumax wcswcs ",
    "wcswidth wcsxfrm wcsxfrm_l wctob wctomb wctrans wctrans_l wctype wctype_l wcwidth wmemchr wmemcmp wmemcpy ",
    "wmemmove wmemset wprintf write writev wscanf y0 y0f y0l y1 y1f y1l yn ynf ynl ",
    "_Exit _exit _longjmp _setjmp _tolower _toupper clearerr_unlocked feof_unlocked ferror_unlocked ",
    "fflush_unlocked fgetc_unlocked fgets_unlocked fileno_unlocked fputc_unlocked fputs_unlocked fread_unlocked ",
    "fwrite_unlocked getw putw getpass getwd qsort_r reallocarray secure_getenv strverscmp sysinfo ",
    NULL,
};

static bool is_listed(const char *const *lines, const char *name)
{
    size_t size = strlen(name);
    for (; *lines && size; lines++)
        for (const char *at = *lines; (at = strstr(at, name)) != NULL; at += size)
            if ((at == *lines || at[-1] == ' ') && at[size] == ' ')
                return true;
    return false;
}

bool c_name_is_keyword(const char *name) { return is_listed(keywords, name); }

bool c_name_is_macro(const char *name) { return is_listed(macros, name); }

bool c_name_is_type(const char *name) { return is_listed(types, name); }

bool c_name_is_library(const char *name) { return is_listed(library, name); }
