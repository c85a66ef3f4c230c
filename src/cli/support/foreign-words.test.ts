import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ChronicleError } from "../../core/values/errors.ts";
import { parseCommandLine } from "../program.ts";
import { COMMANDS } from "../table/command-table.ts";
import { FOREIGN_OPTIONS, FOREIGN_WORDS, isSameWord, sameHere, sameOption } from "./foreign-words.ts";

const NAMES: ReadonlySet<string> = new Set(COMMANDS.map(({ name }) => name));
const LINE = "the same here: ";

/** Returns the error for a command line; `undefined` if the parser accepts it. */
function errorOf(words: readonly string[]): ChronicleError | undefined {
  try {
    parseCommandLine(words, "1.2.3", { columns: 80, colours: false, write: () => undefined });
  } catch (error) {
    if (error instanceof ChronicleError) return error;
    throw error;
  }
  return undefined;
}

function hintOf(line: string): string {
  return errorOf(line.split(" "))?.hint ?? "";
}

const HINTS = [...FOREIGN_WORDS.map((word) => sameHere(word)), ...FOREIGN_OPTIONS.map(ofOption)].map(String);

function ofOption(words: string): string | undefined {
  const [command = "", flag] = words.split(": ");
  return flag === undefined ? sameOption(command) : sameOption(flag, command);
}

it("no name of another tool is a command here, and none stands in the table twice", () => {
  expect(FOREIGN_WORDS.filter((word) => [...NAMES].some((name) => isSameWord(word, name)))).toEqual([]);
  const twice = FOREIGN_WORDS.filter((word, at) => FOREIGN_WORDS.slice(0, at).some((one) => isSameWord(one, word)));
  expect(twice).toEqual([]);
});

it("no option of another tool is an option of the command for which the table has a hint", () => {
  const own = FOREIGN_OPTIONS.filter((words) => {
    const [name, flag] = words.split(": ");
    const flags = COMMANDS.find((one) => one.name === name)?.options.flatMap((one) => one.flags.split(/[ ,]+/));
    return flag !== undefined && (flags === undefined || flags.includes(flag));
  });
  expect(own).toEqual([]);
});

it("every command line in a hint is one that the parser accepts", () => {
  const lines = HINTS.flatMap((hint) => [...hint.matchAll(/`chronicle ([^`]+)`/g)].map(([, line = ""]) => line));
  expect(lines.length).toBeGreaterThan(100);
  // The bare name of a command stands for all its forms, so it may lack an argument.
  expect(lines.filter((line) => !NAMES.has(line) && errorOf(line.split(" ")) !== undefined)).toEqual([]);
});

/** Words in the first column of the document that nobody types as a command: fields of answers, and plain words. */
const FIELDS: ReadonlySet<string> = new Set(
  (
    "Type Payload payload.path payload.source Changes Path ChangeType BeforeHash AfterHash SizeBytes ActionType " +
    "FilesBackedUp PreviousHash Hash TransactionID active committed number timestamp parent hash size mtime " +
    "permissions path started ended command filepath seq ts with"
  ).split(" "),
);

/**
 * Phrases of the document that are no command line of their own: addresses, the ends of options and of paths, and what
 * the shell replaces before the command sees it.
 */
const NO_WORDS = /^GET |^[/…]+(files|history|at)\b|^chronicle\/|^-(L|hourly|daily|weekly|monthly|yearly|within)\b|\$\(/;

interface Phrase {
  readonly row: string;
  readonly phrase: string;
}

function phrasesOf(document: string): Phrase[] {
  const rows = document.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| you know"));
  return rows.flatMap((row) => {
    const [, known = ""] = row.split(/(?<!\\)\|/);
    return [...known.matchAll(/`([^`]+)`/g)].map(([, phrase = ""]) => ({ row, phrase }));
  });
}

const PHRASES = phrasesOf(readFileSync(new URL("../../../docs/coming-from.md", import.meta.url), "utf8"));

/** Returns true if the phrase is a command line here as it is, or a field, or no word that a person types. */
function needsNone(phrase: string): boolean {
  const [word = ""] = phrase.split(" ");
  if (FIELDS.has(phrase) || NO_WORDS.test(phrase)) return true;
  return NAMES.has(phrase) || (NAMES.has(word) && errorOf(phrase.split(" ")) === undefined);
}

it("every word in the tables of docs/coming-from.md works here, or its error names the counterpart", () => {
  expect(PHRASES.length).toBeGreaterThan(150);
  const missing = PHRASES.filter(({ phrase }) => {
    if (needsNone(phrase)) return false;
    const hint = hintOf(phrase);
    return !hint.includes(LINE) && !hint.includes("did you mean: chronicle");
  });
  expect(missing.map(({ phrase }) => phrase)).toEqual([]);
});

/** Returns the words of a text in the form in which they are compared: `list_files` and `listFiles` are equal. */
function wordsOf(text: string): string[] {
  return (text.match(/[\w-]{2,}/g) ?? []).map((word) => word.replaceAll(/[^a-z0-9]/gi, "").toLowerCase());
}

/** Returns true if the hint for a phrase names something that the row of the document names. */
function agrees({ row, phrase }: Phrase): boolean {
  const hint = hintOf(phrase)
    .split("\n")
    .find((line) => line.startsWith(LINE));
  const [, known = "", here = "", differs = ""] = row.split(/(?<!\\)\|/);
  if (hint === undefined || /^ none|inside only|; none|the same (words|fields)/i.test(here)) return true;
  const told = new Set(wordsOf(here.includes("the same") ? `${known} ${here} ${differs}` : `${here} ${differs}`));
  const named = [...hint.matchAll(/`(?:chronicle )?([^`]+)`/g)].flatMap(([, line = ""]) => wordsOf(line));
  return named.some((name) => told.has(name));
}

it("what a hint names is what the document names for the same word", () => {
  // A word may stand in the tables of two tools. Its hint agrees with one of them at least.
  const groups = Map.groupBy(
    PHRASES.filter(({ phrase }) => !needsNone(phrase)),
    ({ phrase }) => sameHere(phrase.split(" ")[0] ?? "") ?? phrase,
  );
  const apart = [...groups.values()].filter((phrases) => !phrases.some(agrees));
  expect(apart.map(([one]) => one?.phrase)).toEqual([]);
});

it.each([
  ["commit -m x", "snapshot -m TEXT"],
  ["checkout a.txt", "restore MOMENT FILE"],
  ["stash", "snapshot --name NAME"],
  ["revert 3", "undo ID"],
  ["snapshots", "list --snapshots"],
  ["backup", "chronicle snapshot"],
  ["op log", "chronicle list"],
  ["/rewind", "chronicle rewind"],
  ["checkpoint", "snapshot --name NAME"],
  ["diff --staged", "nothing is staged"],
  ["log --oneline", "chronicle list"],
  ["log --since=yesterday", "chronicle list"],
  ["createIncremental", "chronicle snapshot"],
  ["create_incremental()", "chronicle snapshot"],
  ["SnapshotManager", "chronicle init PATH"],
  ["create_baseline", "chronicle init"],
  ["restore_to", "restore MOMENT"],
  ["compute_restore_diff", "restore MOMENT --dry-run"],
  ["load_manifest", "manifest MOMENT"],
  ["ExclusionConfig", "excludePatterns"],
  ["SessionMetadata", "chronicle show ID"],
  ["ChronoStore", "openRecordStore"],
  ["--local-sync", "sync start URL DIR"],
  ["--ws-connect ws://x", "replicate DIR --ws-connect URL"],
  ["project --local-sync --ws-connect ws://x", "sync start URL DIR"],
  ["status --ws-connect=ws://x", "replicate DIR --ws-connect URL"],
  ["Rollback", "chronicle rollback"],
  ["Snapshots", "list --snapshots"],
  ["restore --source=0 a", "restore MOMENT FILE"],
  ["snapshot --tag v1", "snapshot --name NAME"],
  ["forget --keep-last 3", "prune --keep-last"],
])("`chronicle %s` is told %s", (line, told) => {
  expect(hintOf(line)).toContain(told);
});

it("a misspelt own command is corrected, and is not taken for a word of another tool", () => {
  expect(hintOf("staus")).toContain("did you mean: chronicle status");
  expect(hintOf("zzzz")).not.toContain(LINE);
  expect(hintOf("zzzz --local-sink")).not.toContain(LINE);
});
