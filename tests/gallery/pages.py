"""What the pages of the gallery show of C compiles: pages.py TILECC CC EXAMPLES, in a folder for headers.

What a text leaves out is declared: data_x and views that it says are alike as pointers, other names as counts.
"""
import pathlib
import re
import subprocess
import sys


def sections(examples):
    for page in sorted(pathlib.Path(examples).glob('*/README.md')):
        for name, body in re.findall(r'^## (\w+)\n(.*?)(?=^## |\Z)', page.read_text(), re.S | re.M):
            shown = '\n'.join(re.findall(r'```c\n(.*?)```', body, re.S))
            named = re.findall(rf'`({name}_\w+\([^`]*\))`', body)
            yield page.parent / f'{name}.tile', shown + ''.join(f'(void){" ".join(call.split())};\n' for call in named)


def complain(compiler, header, declared, code):
    text = f'#include "{header}"\n#include <stdio.h>\nvoid f(struct CUstream_st *stream)\n{{\n{declared}{code}}}\n'
    command = [*compiler.split(), '-x', 'c', '-std=c11', '-I.', '-fsyntax-only', '-']
    return subprocess.run(command, input=text, capture_output=True, text=True, env={'LC_ALL': 'C', 'PATH': '/usr/bin:/bin'}).stderr


def main(tilecc, compiler, examples):
    seen = wrong = 0
    for source, code in sections(examples):
        header = f'{source.stem}.h'
        subprocess.run([tilecc, '-w', '-arch=cpu', '--emit=header', source, '-o', header], check=True)
        declared = ''
        while missing := sorted(set(re.findall(r"['‘](\w+)['’] undeclared", complain(compiler, header, declared, code)))):
            for name in missing:
                alike = re.search(rf'&{name}\b', code)
                code = re.sub(rf'&{name}\b', name, code)
                declared += f'void *{name} = 0;\n' if alike or name.startswith('data') else f'int64_t {name} = 1;\n'
        said = complain(compiler, header, declared, code)
        seen += 1
        if said or source.stem not in code:
            wrong += 1
            print(f'{source}: {said or "no call of it"}')
    print(f'{seen} pages, {wrong} wrong')
    return wrong > 0 or seen == 0


sys.exit(main(*sys.argv[1:]))
