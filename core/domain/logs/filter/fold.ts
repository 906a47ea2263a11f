/**
 * Folds text for comparison, like NFKC_CF: unifies compatible characters, ignores case, and drops invisible characters.
 * https://www.unicode.org/reports/tr44/#NFKC_Casefold
 */

const ASCII = /^\p{ASCII}*$/u;

/** Joiners, soft hyphens, variation selectors: https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point */
const IGNORABLE = /\p{Default_Ignorable_Code_Point}+/gu;

/** Thirty combining marks that another mark follows. Includes the two characters that NFKC turns into marks. */
const LONG_RUN = /[\p{M}\uff9e\uff9f]{30}(?=[\p{M}\uff9e\uff9f])/gu;

/** Separates two runs of marks. `folded` removes it afterwards. */
const JOINER = "\u034f";

/**
 * Breaks runs of marks that are longer than in any language, because normalization sorts a run in quadratic time:
 * https://www.unicode.org/reports/tr15/#Stream_Safe_Text_Format
 */
const streamSafe = (text: string): string => text.replace(LONG_RUN, `$&${JOINER}`);

/** Folds to upper case, because equal letters may differ in lower case (final sigma, sharp s). */
const folded = (text: string): string => {
  // Stryker disable next-line Regex,ConditionalExpression: the slower path returns the same text
  if (ASCII.test(text)) return text.toUpperCase();
  const shown = streamSafe(text.replace(IGNORABLE, ""));
  return shown.normalize("NFKC").toLowerCase().toUpperCase().normalize("NFKC").replaceAll(JOINER, "");
};

/** Texts of at least this length are cached, because each term of a filter folds the same line. */
const LONG = 1000;
let last = { text: "", folded: "" };

export const fold = (text: string): string => {
  // Stryker disable next-line ConditionalExpression,EqualityOperator: the cache only saves repeated work
  if (text.length < LONG) return folded(text);
  if (last.text !== text) last = { text, folded: folded(text) };
  return last.folded;
};
