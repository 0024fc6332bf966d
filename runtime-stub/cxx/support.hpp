/* SPDX-License-Identifier: MIT
 *
 * What headers made by tilecc -fc++ share: tilecc copies the part between the guards into each of them. */
#ifndef TILE_CXX_SHARED
#define TILE_CXX_SHARED 1
namespace tile {

/* A view that a kernel only reads: of a view, or of const memory. */
template <class View> struct const_view {
    View view;
    const_view(const View &from) noexcept : view(from) {}
};

/* Elements that C++ has no type for, by name.  element<T>::type tells of a type of C++ what it is as an element; a program
 * adds its own: template <> struct tile::element<my_half> { using type = tile::f16; }; */
struct f16;
struct bf16;
struct f8e4m3;
struct f8e5m2;

namespace detail {
template <bool Signed, std::size_t Size> struct integer;
template <> struct integer<true, 1> { using type = std::int8_t; };
template <> struct integer<true, 2> { using type = std::int16_t; };
template <> struct integer<true, 4> { using type = std::int32_t; };
template <> struct integer<true, 8> { using type = std::int64_t; };
template <> struct integer<false, 1> { using type = std::uint8_t; };
template <> struct integer<false, 2> { using type = std::uint16_t; };
template <> struct integer<false, 4> { using type = std::uint32_t; };
template <> struct integer<false, 8> { using type = std::uint64_t; };
template <class T> struct never : std::false_type {};
} // namespace detail

template <class T, class = void> struct element {
    static_assert(detail::never<T>::value,
                  "no element is known for this type: specialise tile::element, or name the view with tile::view_as<>");
};
template <class T> struct element<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
    using type = typename detail::integer<std::is_signed_v<T>, sizeof(T)>::type;
};
template <> struct element<bool> { using type = bool; };
template <> struct element<float> { using type = float; };
template <> struct element<double> { using type = double; };
template <class T> struct element<T *> { using type = void *; };
template <> struct element<f16> { using type = f16; };
template <> struct element<bf16> { using type = bf16; };
template <> struct element<f8e4m3> { using type = f8e4m3; };
template <> struct element<f8e5m2> { using type = f8e5m2; };
#if defined(__STDCPP_FLOAT16_T__)
template <> struct element<decltype(0.0f16)> { using type = f16; };
#endif
#if defined(__STDCPP_BFLOAT16_T__)
template <> struct element<decltype(0.0bf16)> { using type = bf16; };
#endif
/* Where CUDA's headers come before this one. */
#if defined(__CUDA_FP16_TYPES_EXIST__)
template <> struct element<::__half> { using type = f16; };
#endif
#if defined(__CUDA_BF16_TYPES_EXIST__)
template <> struct element<::__nv_bfloat16> { using type = bf16; };
#endif
#if defined(__CUDA_FP8_TYPES_EXIST__)
template <> struct element<::__nv_fp8_e4m3> { using type = f8e4m3; };
template <> struct element<::__nv_fp8_e5m2> { using type = f8e5m2; };
#endif

/* The struct of C for an element and a rank: those that kernels of the headers included so far take. */
template <class Element, int Rank> struct view_of {
    static_assert(detail::never<Element>::value, "no kernel declared so far takes a view of these elements and this rank");
};

namespace detail {
template <class View> inline constexpr int rank = static_cast<int>(std::extent_v<decltype(View::extent)>);
template <class T, int Rank>
using view_type = typename view_of<typename element<std::remove_cv_t<T>>::type, Rank>::type;
template <class View, class T> using made = std::conditional_t<std::is_const_v<T>, const_view<View>, View>;

template <class View, class T> View at(T *data)
{
    static_assert(sizeof(T) == sizeof(*View::data), "the memory's elements have another size than the view's");
    View view{};
    view.data = static_cast<decltype(View::data)>(const_cast<void *>(static_cast<const void *>(data)));
    return view;
}

template <class View, class T, class... Extents> View packed(T *data, Extents... extents)
{
    const std::int64_t all[] = {static_cast<std::int64_t>(extents)...};
    static_assert(sizeof...(Extents) == rank<View>, "an extent for each dimension");
    View view = at<View>(data);
    std::int64_t step = 1;
    for (int d = rank<View>; d-- > 0;) {
        view.extent[d] = all[d];
        view.stride[d] = step;
        step = static_cast<std::int64_t>(static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(all[d]));
    }
    return view;
}

/* Of `size` elements; where they do not suffice, the view has an extent of -1, which each call refuses. */
template <class View, class T, class... Extents> View within(std::size_t size, T *data, Extents... extents)
{
    View view = packed<View>(data, extents...);
    std::uint64_t count = 1;
    bool is_empty = false, fits = true;
    for (std::int64_t extent : view.extent)
        is_empty |= extent == 0;
    for (std::int64_t extent : view.extent) {
        fits = fits && extent >= 0 && (extent == 0 || count <= size / static_cast<std::uint64_t>(extent));
        count *= static_cast<std::uint64_t>(extent);
    }
    if (!fits && !is_empty)
        view.extent[0] = -1;
    return view;
}

template <class View, class Span> View strided(const Span &span)
{
    static_assert(Span::is_always_strided(), "a view has a stride for each dimension");
    View view = at<View>(span.data_handle());
    for (std::size_t d = 0; d < Span::rank(); d++) {
        view.extent[d] = static_cast<std::int64_t>(span.extent(d));
        view.stride[d] = static_cast<std::int64_t>(span.stride(d));
    }
    return view;
}

/* std::mdspan and Kokkos::mdspan, by what they have in common. */
template <class T, class = void> struct is_mdspan : std::false_type {};
template <class T>
struct is_mdspan<T, std::void_t<decltype(std::declval<const T &>().data_handle()), decltype(T::rank())>>
    : std::is_pointer<typename T::data_handle_type> {};
template <class Memory> using pointee = std::remove_pointer_t<decltype(std::data(std::declval<Memory &>()))>;
template <class Memory> using if_memory = std::enable_if_t<!is_mdspan<std::remove_cv_t<Memory>>::value, pointee<Memory>>;
template <class Pointer>
using if_pointer = std::enable_if_t<std::is_pointer_v<Pointer>, std::remove_pointer_t<Pointer>>;
template <class Span>
using if_mdspan = std::enable_if_t<is_mdspan<Span>::value, std::remove_pointer_t<typename Span::data_handle_type>>;
} // namespace detail

/* view(pointer, rows, columns): of memory without gaps. */
template <class Pointer, class First, class... Extents, class T = detail::if_pointer<Pointer>,
          class View = detail::view_type<T, 1 + static_cast<int>(sizeof...(Extents))>>
detail::made<View, T> view(const Pointer &data, First first, Extents... extents)
{
    return detail::packed<View>(data, first, extents...);
}

/* view(span): of one dimension; view(span, rows, columns): of its first elements.  A span is what has data() and size(), also a
 * vector and an array.  One that is too short makes a view that each call refuses with TILE_ERR_ARG. */
template <class Memory, class T = detail::if_memory<Memory>, class View = detail::view_type<T, 1>>
detail::made<View, T> view(Memory &&memory)
{
    return detail::packed<View>(std::data(memory), std::size(memory));
}
template <class Memory, class First, class... Extents, class T = detail::if_memory<Memory>,
          class View = detail::view_type<T, 1 + static_cast<int>(sizeof...(Extents))>>
detail::made<View, T> view(Memory &&memory, First first, Extents... extents)
{
    return detail::within<View>(std::size(memory), std::data(memory), first, extents...);
}

/* view(mdspan): with its extents and strides. */
template <class Span, class T = detail::if_mdspan<Span>, class View = detail::view_type<T, static_cast<int>(Span::rank())>>
detail::made<View, T> view(const Span &span)
{
    return detail::strided<View>(span);
}

/* The same of a view that is named, for elements of any type of that size: view_as<tile_bf16_2>(bits, rows, columns). */
template <class View, class Pointer, class First, class... Extents, class T = detail::if_pointer<Pointer>>
detail::made<View, T> view_as(const Pointer &data, First first, Extents... extents)
{
    return detail::packed<View>(data, first, extents...);
}
template <class View, class Memory, class T = detail::if_memory<Memory>> detail::made<View, T> view_as(Memory &&memory)
{
    return detail::packed<View>(std::data(memory), std::size(memory));
}
template <class View, class Memory, class First, class... Extents, class T = detail::if_memory<Memory>>
detail::made<View, T> view_as(Memory &&memory, First first, Extents... extents)
{
    return detail::within<View>(std::size(memory), std::data(memory), first, extents...);
}
template <class View, class Span, class T = detail::if_mdspan<Span>> detail::made<View, T> view_as(const Span &span)
{
    return detail::strided<View>(span);
}

} // namespace tile
#endif /* TILE_CXX_SHARED */
