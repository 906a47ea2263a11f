/** Finds phrases that a reader must read twice: archaic words, literal translations, clauses without an actor. */

/** A phrase as a regular expression, and a sentence of this repository that had it. Word boundaries are added. */
interface Marker {
  readonly phrase: string;
  readonly example: string;
}

/** For phrases that are archaic only at the end of a clause. */
const END = "(?=[.,;:\"'`)]|$)";

export const markers: readonly Marker[] = [
  { phrase: "who(?:m)?ever", example: "Whoever lacks the package gets its name." },
  { phrase: "wherever(?! Kubernetes)", example: "It is refused wherever a key repeats." },
  { phrase: "whichever", example: "Whichever call fails, the command ends." },
  { phrase: "nobody(?:'s)?", example: "Nobody has called the service since." },
  { phrase: "(?:some|every)body(?:'s)?", example: "A port that somebody takes meanwhile." },
  { phrase: "(?:those|so that) who", example: "Those who hang up do not look at it." },
  { phrase: "(?<=[.:;] )those that", example: "Two wait. Those that come later are refused." },
  { phrase: "such a one", example: "Such a one is refused." },
  { phrase: "whose end", example: "Deploys whose end was not seen." },
  { phrase: "(?<!there )(?:is|are) none", example: "A pattern that is none." },
  { phrase: "(?:is|are|was|were|be) told(?! apart)", example: "The client is told the reason." },
  { phrase: "told of", example: "Told of every piece of standard output." },
  { phrase: "(?:is|are|was|be) said", example: "The raise is said in the stream." },
  {
    phrase: "what is (?:asked|given|told|said|known|made|there|left|wanted)",
    example: "What is asked again is asked late.",
  },
  { phrase: `what it (?:is|was|has|had)${END}`, example: "The service keeps what it has." },
  { phrase: "is asked (?:for|again|to)", example: "A page is asked for." },
  { phrase: "(?:is|are) (?:had|wanted)", example: "Where a longer search is wanted." },
  { phrase: "to be had", example: "A smaller size is to be had." },
  { phrase: "had again", example: "The name can be had again." },
  { phrase: "(?:is|are|was|were) met", example: "The limit is met by the next call." },
  { phrase: "met (?:a bug|again)", example: "A use case met a bug." },
  { phrase: "goes by", example: "The order goes by the time." },
  { phrase: "(?:goes|go|went) on", example: "The deploy goes on." },
  { phrase: "gone with", example: "Its files are gone with it." },
  { phrase: "(?:is|are|was|were) gone", example: "The volume is gone." },
  { phrase: `is over${END}`, example: "Once the request is over." },
  { phrase: "for ever", example: "It waits for ever." },
  { phrase: "dear|dearer|dearest", example: "The dearest group comes first." },
  { phrase: "at once", example: "The call ends at once." },
  { phrase: "anew", example: "The layers have to be made anew." },
  { phrase: "by itself", example: "It passes by itself." },
  { phrase: "of its own", example: "A test with a server of its own." },
  { phrase: "of (?:ours|theirs)", example: "A file of ours." },
  { phrase: "of no use", example: "The answer is of no use." },
  { phrase: "in the place of", example: "It stays in the place of the old one." },
  { phrase: "(?:stands|stood) (?:in|for|under)", example: "The alias stands for a variable." },
  { phrase: "taken? for", example: "A cut page is taken for the last." },
  { phrase: `as it is${END}`, example: "The field stays as it is." },
  { phrase: "as many at once", example: "The provider runs as many at once as it can." },
  { phrase: "(?:has|have) to be", example: "A port has to be free." },
  { phrase: "no more than", example: "It is no more than a note." },
  { phrase: "(?:come|comes) about", example: "How the state comes about." },
  { phrase: "meant alike", example: "Both are meant alike." },
  { phrase: "(?:is|are) not there|there is not", example: "The object is not there." },
  { phrase: "(?:no longer|not) there any more|no longer there", example: "The bucket is no longer there." },
  { phrase: "also (?:if|after|when)", example: "Counts requests, also after a restart." },
  { phrase: "(?:the|its|their) present", example: "Returns the failures of its present certificate." },
  { phrase: "be it|lest|hence|thereof|whence|thereupon", example: "It is closed, lest it leak." },
];

const PHRASES = new RegExp(`\\b(?:${markers.map(({ phrase }) => phrase).join("|")})(?!\\w)`, "gi");

/** Correct uses. Each text may occur in any file. */
export const allowed: readonly { readonly text: string; readonly reason: string }[] = [
  { text: "`nobody`", reason: "the user of Linux" },
  { text: "nobody:", reason: "the user of Linux" },
  { text: ":nobody", reason: "the user of Linux" },
  { text: "nobody and nogroup", reason: "the user and the group of Linux" },
  { text: "NOBODY", reason: "a constant: the user of Linux, or the owner of a name without an account" },
  { text: "errno is None", reason: "Python code" },
  { text: "user=nobody", reason: "a user name in an example" },
  { text: "//nobody@", reason: "a user name in a URL" },
];

/** The text with each comment, paragraph and wrapped string on one line. */
const unwrapped = (source: string): string => source.replaceAll(/\s*\n\s*(?:\*(?!\/)|\/\/)?\s*/g, " ");

/** The marked phrases of a source file or page, each with the words around it. */
export const markedPhrases = (source: string): readonly string[] => {
  let text = unwrapped(source);
  for (const { text: use } of allowed) text = text.replaceAll(use, (found) => "·".repeat(found.length));
  return [...text.matchAll(PHRASES)].map((match) => text.slice(Math.max(0, match.index - 40), match.index + 60));
};
