# SPDX-License-Identifier: Apache-2.0
"""Building blocks on strings and on lists of words."""

from collections.abc import Callable

# fmt: off


def strings(add: Callable[..., None]) -> None:
    def text(name, gives, level, code, says, noun="", values=()):
        add(name, "str", gives, level, code, says, noun, values)

    text("backwards", "str", 0, "{x}[::-1]", "reverse the string|write it backwards", "the reverse of {x}")
    text("upper", "str", 0, "{x}.upper()", "turn it into upper case|make all letters capitals",
         "the upper-case form of {x}")
    text("lower", "str", 0, "{x}.lower()", "turn it into lower case|make all letters small",
         "the lower-case form of {x}")
    text("swap_case", "str", 0, "{x}.swapcase()",
         "swap upper and lower case|make capitals small and small letters capitals")
    text("no_spaces", "str", 0, "{x}.replace(' ', '')", "remove all spaces|take out the spaces")
    text("no_vowels", "str", 0, "''.join(c for c in {x} if c not in 'aeiouAEIOU')",
         "remove the vowels (a, e, i, o, u in either case)|leave out every vowel, a, e, i, o or u in either case")
    text("only_vowels", "str", 0, "''.join(c for c in {x} if c in 'aeiouAEIOU')",
         "keep only the vowels (a, e, i, o, u in either case)|drop all but the vowels, a, e, i, o and u in either case",
         "the vowels (a, e, i, o, u in either case) of {x}")
    text("only_letters", "str", 0, "''.join(c for c in {x} if c.isalpha())",
         "keep only the letters|drop whatever is no letter",
         "the letters of {x}")
    text("only_digits", "str", 0, "''.join(c for c in {x} if c.isdigit())",
         "keep only the digits|drop whatever is no digit",
         "the digits of {x}")
    text("first_chars", "str", 0, "{x}[:{k}]", "keep only the first {k} characters|cut it after {k} characters",
         "the first {k} characters of {x}", (2, 3, 4))
    text("last_chars", "str", 0, "{x}[-{k}:]",
         "keep only the last {k} characters|cut it down to its last {k} characters",
         "the last {k} characters of {x}", (2, 3, 4))
    text("cut_first", "str", 0, "{x}[1:]", "drop the first character|leave out the first character")
    text("cut_last", "str", 0, "{x}[:-1]", "drop the last character|leave out the last character")
    text("second_chars", "str", 0, "{x}[::2]", "keep every second character, starting with the first"
         "|take the characters at positions 0, 2, 4 and so on")
    text("double_chars", "str", 0, "''.join(c * 2 for c in {x})", "write every character twice|double each character")
    text("sort_chars", "str", 0, "''.join(sorted({x}))", "sort its characters in the order that sorted gives"
         "|arrange its characters as sorted does")
    text("star", "str", 0, "{x}.replace({k}, '*')", "replace every {k} by '*'|put '*' in place of each {k}", "",
         ("a", "e", "o"))
    text("exclaim", "str", 0, "{x} + '!'", "add '!' at the end|append an exclamation mark")
    text("again", "str", 0, "{x} * 2", "repeat it twice in a row|append a copy of it to itself")
    text("length", "int", 0, "len({x})", "count the characters|take its length", "the length of {x}")
    text("count_char", "int", 0, "{x}.count({k})", "count how often {k} occurs|take the number of times {k} occurs",
         "the number of {k} in {x}", ("a", "e", "o"))
    text("count_vowels", "int", 0, "sum(c in 'aeiouAEIOU' for c in {x})",
         "count the vowels (a, e, i, o, u in either case)|take the number of vowels, a, e, i, o and u in either case",
         "the number of vowels (a, e, i, o, u in either case) in {x}")
    text("count_capitals", "int", 0, "sum(c.isupper() for c in {x})", "count the capital letters"
         "|take the number of upper-case letters", "the number of capital letters in {x}")
    text("split", "strs", 0, "{x}.split()", "split it into words at the spaces|make a list of its words",
         "the words of {x}")
    text("has_digit", "bool", 0, "any(c.isdigit() for c in {x})", "tell whether it holds a digit (True or False)"
         "|return True if there is a digit in it, else False")
    text("palindrome", "bool", 1, "{x} == {x}[::-1]", "tell whether it reads the same backwards (True or False)"
         "|return True for a palindrome, character by character, else False")
    text("positions", "ints", 1, "[ord(c) - 96 for c in {x}.lower() if 'a' <= c <= 'z']",
         "turn each letter into its place in the alphabet (a and A are 1), leaving out the rest"
         "|list the places of its letters in the alphabet, 1 to 26, whatever their case, ignoring all else")
    text("caesar", "str", 1, "''.join(chr((ord(c) - 97 + {k}) % 26 + 97) if 'a' <= c <= 'z' else c for c in {x})",
         "move every small letter {k} places on in the alphabet, where z is followed by a, and leave all else alone"
         "|shift the letters a to z by {k}, wrapping around after z; other characters stay", "", (1, 3, 13))
    text("unique_chars", "str", 1, "''.join(dict.fromkeys({x}))",
         "remove repeated characters, keeping the first of each"
         "|drop every character that occurred before")
    text("title", "str", 1, "' '.join(w.capitalize() for w in {x}.split())",
         "begin each word with a capital, the rest of it small, one space between words"
         "|capitalise every word, make its other letters small, and put single spaces between words")
    text("turn_words", "str", 1, "' '.join({x}.split()[::-1])", "put its words in reverse order, one space between them"
         "|write the last word first and so on, with single spaces")
    text("digit_total", "int", 1, "sum(int(c) for c in {x} if c.isdigit())", "add up the digits in it (0 without any)"
         "|take the sum of the digits it holds, 0 if there are none")
    text("letter_counts", "dict", 1, "{c: {x}.count(c) for c in {x}}",
         "make a dict from each character to how often it occurs"
         "|count every character in a dict")
    text("chunks", "strs", 1, "[{x}[i:i + {k}] for i in range(0, len({x}), {k})]",
         "cut it into pieces of {k} characters from the left (the last may be shorter)"
         "|list its parts of {k} characters, the last one with what is left", "", (2, 3))
    text("run_length", "str", 2, "''.join(c + str(len(list(run))) for c, run in groupby({x}))",
         "write each run of equal characters as the character and the length of the run, as in a3b1 for aaab"
         "|run-length encode it: every stretch of one character becomes that character and a count, always")
    text("depth", "ints", 2,
         "at, depths = 0, []\nfor c in {x}:\n    at += c.isupper()\n    at -= at > 0 and c.islower()\n"
         "    depths.append(at)\n"
         "{y} = depths",
         "keep a counter from 0: a capital adds 1, a small letter takes 1 away unless it is 0; list it after each "
         "character|after every character note a count that starts at 0, rises with each upper-case letter and falls "
         "with each lower-case one, never below 0")


def word_lists(add: Callable[..., None]) -> None:
    def words(name, gives, level, code, says, noun="", values=()):
        add(name, "strs", gives, level, code, says, noun, values)

    for name, level, test, what, values in (
        ("longer", 0, "len(w) > {k}", "words with more than {k} letters", (2, 3, 4)),
        ("shorter", 0, "len(w) < {k}", "words with fewer than {k} letters", (4, 5)),
        ("with", 0, "{k} in w", "words that contain {k}", ("a", "e", "o", "r")),
        ("without", 0, "{k} not in w", "words that do not contain {k}", ("a", "e", "o")),
        ("vowel", 0, "w.startswith(('a', 'e', 'i', 'o', 'u'))", "words that start with a, e, i, o or u", ()),
        ("mirrored", 1, "w == w[::-1]", "words that read the same backwards", ()),
    ):
        words(f"keep_{name}", "strs", level, f"[w for w in {{x}} if {test}]",
              f"keep only the {what}|throw away all but the {what}", f"the {what} among {{x}}", values)
    words("upper_each", "strs", 0, "[w.upper() for w in {x}]", "turn each word into upper case|make all words capitals",
          "the upper-case forms of {x}")
    words("backwards_each", "strs", 0, "[w[::-1] for w in {x}]", "reverse each word|write every word backwards")
    words("capital_each", "strs", 0, "[w.capitalize() for w in {x}]",
          "capitalise each word (first letter large, rest small)"
          "|give every word a capital first letter and small ones after it")
    words("sort_words", "strs", 0, "sorted({x})", "sort alphabetically, as sorted does|put them in the order of sorted")
    words("sort_length", "strs", 0, "sorted({x}, key=len)", "sort by length, shortest first, ties in their order"
          "|order from short to long, equally long words staying as they are")
    words("turn_list", "strs", 0, "{x}[::-1]", "reverse the order of the words|turn the list around")
    words("first_words", "strs", 0, "{x}[:{k}]", "keep only the first {k} words|cut the list after {k} words",
          "the first {k} of {x}", (2, 3))
    words("skip_word", "strs", 0, "{x}[1:]", "drop the first word|leave out the first word")
    words("lengths", "ints", 0, "[len(w) for w in {x}]",
          "take the length of each word|replace every word by its length",
          "the lengths of {x}")
    words("first_letters", "str", 0, "''.join(w[:1] for w in {x})",
          "join the first letters of the words into one string"
          "|make a string of the words' first letters", "the string of first letters of {x}")
    words("last_letters", "str", 0, "''.join(w[-1:] for w in {x})", "join the last letters of the words into one string"
          "|make a string of the words' last letters", "the string of last letters of {x}")
    words("join", "str", 0, "{k}.join({x})", "join the words with {k}|make one string with {k} between the words", "",
          ("-", " ", ", "))
    words("longest", "str", 0, "max({x}, key=len, default='')",
          "take the longest word (the first of several, '' if none)"
          "|pick the word with most letters, the first one among equals, or '' from nothing")
    words("count_words", "int", 0, "len({x})", "count the words|take the number of words", "the number of {x}")
    words("letters", "int", 0, "sum(len(w) for w in {x})",
          "add up the lengths of the words|take the number of letters in "
          "all words together", "the total length of {x}")
    words("unique_words", "strs", 1, "list(dict.fromkeys({x}))", "remove repeated words, keeping the first of each"
          "|drop every word that occurred before")
    words("sort_endings", "strs", 1, "sorted({x}, key=lambda w: (w[-1:], w))",
          "sort by the last letter, words with the same last letter alphabetically"
          "|order by final letter and, where that is the same, by the whole word")
    words("numbered", "strs", 1, "[f'{i}:{w}' for i, w in enumerate({x}, 1)]",
          "put its position, counting from 1, and ':' before each word|number the words as in 1:first and 2:second")
    words("pairs", "strs", 1, "[a + b for a, b in zip({x}, {x}[1:])]", "join each word with the one after it"
          "|make a word of every two neighbours, the last word starting none")
    words("length_dict", "dict", 1, "{w: len(w) for w in {x}}", "make a dict from each word to its length"
          "|look up the words' lengths in a dict, keyed by word")
    words("word_counts", "dict", 1, "{w: {x}.count(w) for w in {x}}",
          "make a dict from each word to how often it occurs"
          "|count every word in a dict")
    words("initials", "dict", 1, "{w[:1]: sum(v[:1] == w[:1] for v in {x}) for w in {x}}",
          "make a dict from each first letter to the number of words that start with it"
          "|count the words by their first letter in a dict")
    words("chain", "int", 2,
          "best = here = 0\nlast = ''\nfor w in {x}:\n    here = here + 1 if last and w[:1] == last[-1:] else 1\n"
          "    best, last = max(best, here), w\n{y} = best",
          "take the length of the longest stretch in which every word starts with the last letter of the one before it "
          "(0 if there is no word)|play word chain: count the most words in a row of which each begins as the "
          "one before "
          "ends, 0 without words")
