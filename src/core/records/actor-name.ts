import { ChronicleError } from "../values/errors.ts";
import { INVISIBLE } from "../values/invisible.ts";

/**
 * Names that stand for people or for Chronicle itself. An agent with such a name would be mistaken for a person or for
 * Chronicle.
 */
const RESERVED = [
  ...["human", "person", "people", "operator", "owner", "user", "admin", "administrator", "root", "superuser"],
  ...["system", "chronicle", "ambiguous"],
];
/** The name of the actor in records of changes that belong to nobody. */
const NOBODYS = "ambiguous";
/** A placeholder for a character that may stand for any letter. */
const ANY = "*";

/**
 * Letters, digits and signs that look like Latin letters. Each row has some characters, and then the Latin letters that
 * these characters look like. The characters are the letters of UTS #39 (confusables.txt) that occur in names, and
 * characters that people write in place of letters (`hum4n`). A capital letter that is in no row is treated like its
 * small letter.
 *
 * The rows do not need the letters that `claimedName` recognises in other ways. NFKD replaces full-width letters,
 * mathematical letters, and letters with marks. Any other letter, digit or sign beyond ASCII may stand for any letter
 * (see `mayBe`).
 */
const LOOKS: readonly (readonly [string, string])[] = [
  ["АВЕКМНОРСТУХЅІЈԌԚԜՏ", "abekmhopctyxsijgqws"],
  ["авеһнікмпорсѕтухјԁԛԝѵӏгцьүґıʟ", "abehhikmnopcstyxjdqwvlrubyrll"],
  ["ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "abezhikmnoptyxc"],
  ["αβγεηικνορτυχωϲσ", "abyenikvoptuxwco"],
  ["հոսօցզռւրԱՕՍԼ", "hnuogqnlnuoul"],
  ["ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnopqrstuvwyz"],
  ["ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ", "abcdefghijklmnoprstuvwxyz"],
  ["ᎪᏴᏟᎠᎬᎻᎫᏦᏞᎷᏢᎡᏒᏚᎢᏙᏔᏃ", "abcdehjklmprrstvwz"],
  ["ⲁⲃⲉⲏⲓⲕⲙⲛⲟⲣⲥⲧⲩⲭⲍ", "abehikmnopctyxz"],
  ["đħłøŧŋɑɓɔɕɖɗəɛɠɡɦɩɨɭɫɱɲɳɵɾɽʂʃʈʉʊʋʍʏʐʒ", "dhlotnabccddeegghiillmnnorrsstuuvwyzz"],
  // Digits and signs that people write in place of letters.
  ["℮€3@45$7890|!", "eeeaasstbgoli"],
];
const LOOK_OF = new Map(
  LOOKS.flatMap(([letters, latin]) => {
    const likes = [...latin];
    return [...letters].map((letter, at) => [letter, likes[at] ?? letter] as const);
  }),
);
/**
 * The first code points of four rows of 26 letters: boxed, circled and flag letters. Unicode normalisation does not
 * turn most of these letters into plain letters.
 */
const SIGNS = [0x1f1_30, 0x1f1_50, 0x1f1_70, 0x1f1_e6];

/**
 * Returns the reserved word that a name equals or looks like; `undefined` if there is none. Ignores case, marks, signs
 * and invisible characters between the letters. Recognises look-alike letters of other scripts.
 */
export function claimedName(name: string): string | undefined {
  const letters = [...name.normalize("NFKD")].filter(
    (letter) => !/\p{M}|\p{Default_Ignorable_Code_Point}|\*/u.test(letter),
  );
  const known = (letter: string): string | undefined => LOOK_OF.get(letter) ?? signed(letter);
  const read = (letter: string): string => known(letter) ?? known(letter.toLowerCase()) ?? letter;
  const seen = folded(letters.map(read).join(""));
  const open = folded(letters.map((letter) => (isForeign(letter) ? ANY : read(letter))).join(""));
  return RESERVED.find((word) => seen === folded(word) || mayBe(open, folded(word)));
}

/** Returns `agent (<name>)` for a name that looks like a person's or Chronicle's. Returns any other name unchanged. */
export function agentName(name: string): string {
  return claimedName(name) === undefined ? name : `agent (${name})`;
}

/** Returns the default actor of a role: `agent` for an agent, else `human`. */
export function nameOfRole(role: "person" | "agent" | undefined): string {
  return role === "agent" ? "agent" : "human";
}

/**
 * Returns the given name. If no name is given, returns `otherwise`, or `agent` if `otherwise` looks like the name of a
 * person or of Chronicle.
 */
export function agentsName(given: string | undefined, otherwise: string): string {
  return given ?? (claimedName(otherwise) === undefined ? otherwise : nameOfRole("agent"));
}

/** Throws `FORBIDDEN` if the name of an agent looks like the name of a person or of Chronicle. */
export function refuseClaimedName(name: string | undefined): void {
  const claimed = name === undefined ? undefined : claimedName(name);
  if (claimed === undefined) return;
  throw new ChronicleError("FORBIDDEN", `an agent may not act as ${claimed}, nor under a name that looks like it`, {
    hint: "leave the actor out, or give the agent's own name",
    data: { actor: name },
  });
}

/** Throws `USAGE` for an empty name, for a name with invisible characters, and for `NOBODYS`. */
export function checkActorName(name: string | undefined): void {
  if (name === undefined) return;
  if (typeof name !== "string" || name.trim() === "") refuse("is empty", "give a name, or leave the actor out");
  checkVisible("actor's name", name);
  if (name === NOBODYS) refuse("is reserved for changes whose actor is not known", "give another name");
}

/** Throws `USAGE` for a name or an id with invisible or control characters. */
export function checkVisible(what: string, text: string | undefined): void {
  INVISIBLE.lastIndex = 0;
  if (text === undefined || !INVISIBLE.test(text)) return;
  throw new ChronicleError("USAGE", `the ${what} holds invisible or control characters`, { hint: "give plain text" });
}

function refuse(what: string, hint: string): never {
  throw new ChronicleError("USAGE", `the actor's name ${what}`, { hint });
}

/**
 * Converts a name to lower case, and keeps only its letters, digits and `ANY`. Letters, digits and pairs of letters
 * that look alike in many fonts become the same letter.
 */
function folded(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}*]/gu, "")
    .replaceAll(/[1i]/g, "l")
    .replaceAll("rn", "m")
    .replaceAll("vv", "w")
    .replaceAll("cl", "d");
}

function isForeign(letter: string): boolean {
  return /[\p{L}\p{N}\p{S}]/u.test(letter) && !/\p{ASCII}/u.test(letter) && signed(letter) === undefined;
}

function signed(letter: string): string | undefined {
  const code = letter.codePointAt(0) ?? 0;
  const first = SIGNS.find((sign) => code >= sign && code < sign + 26);
  return first === undefined ? undefined : String.fromCodePoint(97 + code - first);
}

/**
 * Returns true if the name has the length of the word, and differs from it only at placeholders (`ANY`). At least half
 * of the characters must be equal letters.
 */
function mayBe(open: string, word: string): boolean {
  if (!open.includes(ANY) || open.length !== word.length) return false;
  const letters = [...open];
  const same = letters.filter((letter, at) => letter === word[at]).length;
  return same * 2 >= word.length && letters.every((letter, at) => letter === ANY || letter === word[at]);
}
