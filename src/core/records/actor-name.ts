import { ChronicleError } from "../values/errors.ts";
import { INVISIBLE } from "../values/invisible.ts";

/** What stands for people, and for Chronicle itself: an agent whose work was told under such a name would pass for them. */
const RESERVED = [
  ...["human", "person", "people", "operator", "owner", "user", "admin", "administrator", "root", "superuser"],
  ...["system", "chronicle", "ambiguous"],
];
/** Stands in records of changes whose owner is not known. */
export const NOBODYS = "ambiguous";
/** Stands for a letter of another script. */
const ANY = "*";

/**
 * Letters of other scripts that look like Latin ones, each row with what they look like. After UTS #39 (confusables.txt): the
 * part of it that names are made of. Full width and mathematical letters and those with marks are found by NFKD; among Latin letters,
 * one of another script counts as any letter.
 */
const LOOKS: readonly (readonly [string, string])[] = [
  ["АВЕКМНОРСТУХЅІЈԌԚԜՏ", "abekmhopctyxsijgqws"],
  ["авеһнікмпорсѕтухјԁԛԝѵӏгцьүґıʟ", "abehhikmnopcstyxjdqwvlrubyrll"],
  ["ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "abezhikmnoptyxc"],
  ["αβγεηικνορτυχωϲσ", "abyenikvoptuxwco"],
  ["հոսօցզռւրԱՕՍԼ", "hnuogqnlnuousl"],
  ["ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnopqrstuvwyz"],
  ["ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ", "abcdefghijklmnoprstuvwxyz"],
  ["ᎪᏴᏟᎠᎬᎻᎫᏦᏞᎷᏢᎡᏒᏚᎢᏙᏔᏃ", "abcdehjklmprrstvwz"],
  ["0|", "ol"],
];
const LOOK_OF = new Map(
  LOOKS.flatMap(([letters, latin]) => {
    const likes = [...latin];
    return [...letters].map((letter, at) => [letter, likes[at] ?? letter] as const);
  }),
);
/** Letters in boxes, in circles and of flags, which no normal form makes letters of: the first, how many. */
const SIGNS = [0x1f1_30, 0x1f1_50, 0x1f1_70, 0x1f1_e6];

/**
 * The reserved word that a name is, or looks like: written with letters of other scripts, with marks, with signs or invisible
 * characters between the letters, in other cases. `undefined`: none.
 */
export function claimedName(name: string): string | undefined {
  const letters = [...name.normalize("NFKD")].filter(
    (letter) => !/\p{M}|\p{Default_Ignorable_Code_Point}|\*/u.test(letter),
  );
  const read = (letter: string): string => LOOK_OF.get(letter) ?? signed(letter) ?? letter;
  const seen = folded(letters.map(read).join(""));
  const open = folded(letters.map((letter) => (isForeign(letter) ? ANY : read(letter))).join(""));
  return RESERVED.find((word) => seen === folded(word) || mayBe(open, folded(word)));
}

/** A name under which an agent may be told: its own, or, where that looks like a person's, one that says what it is. */
export function agentName(name: string): string {
  return claimedName(name) === undefined ? name : `agent (${name})`;
}

/** Under what name somebody acts who gives none: a person, or an agent. */
export function nameOfRole(role: "person" | "agent" | undefined): string {
  return role === "agent" ? "agent" : "human";
}

/** The name under which an agent acts: the one that it gives, else the one that holds anyway, unless that is a person's. */
export function agentsName(given: string | undefined, otherwise: string): string {
  return given ?? (claimedName(otherwise) === undefined ? otherwise : nameOfRole("agent"));
}

/** Throws `FORBIDDEN` where an agent names itself like a person or like Chronicle. */
export function refuseClaimedName(name: string | undefined): void {
  const claimed = name === undefined ? undefined : claimedName(name);
  if (claimed === undefined) return;
  throw new ChronicleError("FORBIDDEN", `an agent may not act as ${claimed}, nor under a name that looks like it`, {
    hint: "leave the actor out, or give the agent's own name",
    data: { actor: name },
  });
}

/** Throws `USAGE` for a name that nobody could tell from another one by looking, or that stands for nobody. */
export function checkActorName(name: string | undefined): void {
  if (name === undefined) return;
  if (typeof name !== "string" || name.trim() === "") refuse("is empty", "give a name, or leave the actor out");
  checkVisible("actor's name", name);
  if (name === NOBODYS) refuse("is that of changes whose owner is not known", "give another name");
}

/** Throws `USAGE` for a name or an id that holds what nobody sees. */
export function checkVisible(what: string, text: string | undefined): void {
  INVISIBLE.lastIndex = 0;
  if (text === undefined || !INVISIBLE.test(text)) return;
  throw new ChronicleError("USAGE", `the ${what} holds invisible or control characters`, { hint: "give plain text" });
}

function refuse(what: string, hint: string): never {
  throw new ChronicleError("USAGE", `the actor's name ${what}`, { hint });
}

/** Letters alone, in one case; those that cannot be told apart in many fonts are one. */
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
  return /\p{L}/u.test(letter) && !/[a-z]/i.test(letter);
}

/** The Latin letter of a sign. */
function signed(letter: string): string | undefined {
  const code = letter.codePointAt(0) ?? 0;
  const first = SIGNS.find((sign) => code >= sign && code < sign + 26);
  return first === undefined ? undefined : String.fromCodePoint(97 + code - first);
}

/** Could it be this word, with any letter for those of other scripts? At least half of it must stand there in Latin ones. */
function mayBe(open: string, word: string): boolean {
  if (!open.includes(ANY) || open.length !== word.length) return false;
  const letters = [...open];
  const same = letters.filter((letter, at) => letter === word[at]).length;
  return same * 2 >= word.length && letters.every((letter, at) => letter === ANY || letter === word[at]);
}
