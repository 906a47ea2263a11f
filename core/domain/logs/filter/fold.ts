/**
 * Text as it is compared, NFKC_CF in effect: compatible characters made one, case dropped, what does not show left out.
 * https://www.unicode.org/reports/tr44/#NFKC_Casefold
 */

const ASCII = /^\p{ASCII}*$/u;

/** Joiners, soft hyphens, variation selectors: https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point */
const IGNORABLE = /\p{Default_Ignorable_Code_Point}+/gu;

/** Marks that follow a letter; also the two that become marks when they are made compatible. */
const LONG_RUN = /[\p{M}\uff9e\uff9f]{30}(?=[\p{M}\uff9e\uff9f])/gu;

/** Ends a run of marks and is left out again at the end. */
const JOINER = "\u034f";

/**
 * Normalising puts the marks of a letter in order, in quadratic time. Runs longer than any language has are broken:
 * https://www.unicode.org/reports/tr15/#Stream_Safe_Text_Format
 */
const streamSafe = (text: string): string => text.replace(LONG_RUN, `$&${JOINER}`);

/** By way of capitals, because small letters of one meaning may differ (final sigma, sharp s). */
const folded = (text: string): string => {
  // Stryker disable next-line Regex,ConditionalExpression: the rest would say the same, later
  if (ASCII.test(text)) return text.toUpperCase();
  const shown = streamSafe(text.replace(IGNORABLE, ""));
  return shown.normalize("NFKC").toLowerCase().toUpperCase().normalize("NFKC").replaceAll(JOINER, "");
};

/** From here on a text is worth remembering: a filter of a thousand terms asks for the same line a thousand times. */
const LONG = 1000;
let last = { text: "", folded: "" };

export const fold = (text: string): string => {
  // Stryker disable next-line ConditionalExpression,EqualityOperator: what is remembered is what would be made again
  if (text.length < LONG) return folded(text);
  if (last.text !== text) last = { text, folded: folded(text) };
  return last.folded;
};
