/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the fields of a struct lie that kernel programs and user space share, or that goes over the
 * network. Each such struct says it behind itself, field by field: so every compiler checks that its
 * layout is the one that all others see.
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_LAYOUT_H
#define OLAF_LAYOUT_H

#ifdef __cplusplus
#define OLAF_STATIC_ASSERT(cond, text) static_assert(cond, text)
#define OLAF_SIZEOF(type, field) sizeof(type::field)
#else
#define OLAF_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#define OLAF_SIZEOF(type, field) sizeof(((struct type *)0)->field)
#endif

/* The field of struct `type` begins at this byte. */
#define OLAF_AT(type, offset, field)                                           \
	OLAF_STATIC_ASSERT(__builtin_offsetof(struct type, field) == (offset), \
			   #type "." #field " begins elsewhere")

/*
 * The bytes from `from` up to `to` are these one to eight fields of struct `type`, in this order and
 * with no padding: OLAF_SPAN(olaf_u128, 0, 16, low, high);
 */
#define OLAF_SPAN(type, from, to, ...)                                                             \
	OLAF_SPAN_OF(__VA_ARGS__, OLAF_SPAN8, OLAF_SPAN7, OLAF_SPAN6, OLAF_SPAN5, OLAF_SPAN4,      \
		     OLAF_SPAN3, OLAF_SPAN2, OLAF_SPAN1, 0)(type, from, to, __VA_ARGS__)

/* The same, and the struct ends with them. */
#define OLAF_LAST(type, from, size, ...)          \
	OLAF_SPAN(type, from, size, __VA_ARGS__); \
	OLAF_STATIC_ASSERT(sizeof(struct type) == (size), #type " ends elsewhere")

#define OLAF_SPAN_OF(a, b, c, d, e, f, g, h, macro, ...) macro
#define OLAF_END(type, field) (__builtin_offsetof(struct type, field) + OLAF_SIZEOF(type, field))
#define OLAF_SPAN1(type, from, to, field) \
	OLAF_AT(type, from, field);       \
	OLAF_STATIC_ASSERT(OLAF_END(type, field) == (to), #type "." #field " ends elsewhere")
#define OLAF_SPAN2(type, from, to, field, ...) \
	OLAF_AT(type, from, field);            \
	OLAF_SPAN1(type, OLAF_END(type, field), to, __VA_ARGS__)
#define OLAF_SPAN3(type, from, to, field, ...) \
	OLAF_AT(type, from, field);            \
	OLAF_SPAN2(type, OLAF_END(type, field), to, __VA_ARGS__)
#define OLAF_SPAN4(type, from, to, field, ...) \
	OLAF_AT(type, from, field);            \
	OLAF_SPAN3(type, OLAF_END(type, field), to, __VA_ARGS__)
#define OLAF_SPAN5(type, from, to, field, ...) \
	OLAF_AT(type, from, field);            \
	OLAF_SPAN4(type, OLAF_END(type, field), to, __VA_ARGS__)
#define OLAF_SPAN6(type, from, to, field, ...) \
	OLAF_AT(type, from, field);            \
	OLAF_SPAN5(type, OLAF_END(type, field), to, __VA_ARGS__)
#define OLAF_SPAN7(type, from, to, field, ...) \
	OLAF_AT(type, from, field);            \
	OLAF_SPAN6(type, OLAF_END(type, field), to, __VA_ARGS__)
#define OLAF_SPAN8(type, from, to, field, ...) \
	OLAF_AT(type, from, field);            \
	OLAF_SPAN7(type, OLAF_END(type, field), to, __VA_ARGS__)

#endif /* OLAF_LAYOUT_H */
