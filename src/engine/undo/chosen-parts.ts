import type { UndoOptions, UndoPart } from "../../api/workspace-api.ts";
import type { LineRange, PickedRange } from "../../core/tree/pick-hunks.ts";
import type { Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { sha256 } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { greatestOf } from "../../util/long-lists.ts";
import type { Work } from "../facts/own-work.ts";
import type { Context } from "../log/context.ts";
import { shownPath } from "../log/shape.ts";
import { fileNamed } from "./selection.ts";

/** A file, or a folder, of which all or some hunks are undone. */
export interface ChosenPart {
  readonly path: WorkspacePath;
  /** True for the path, what is beneath it, and the files of its database. */
  readonly isMeant: (path: WorkspacePath) => boolean;
  /** The lines whose hunks are undone; `undefined`: everything that the work did there. */
  readonly range?: PickedRange | undefined;
  /** The hash of the content that the caller has seen, or `null` if there was none. */
  readonly seen?: string | null | undefined;
}

/** The parts of some work that are undone alone. */
export interface ChosenParts {
  readonly parts: readonly ChosenPart[];
  /** The name of the work, for messages. */
  readonly work: string;
}

/**
 * Returns the options with `parts` in place of `file`, `fromLine` and `toLine`. Returns the options themselves if they
 * name no lines. Throws `USAGE` if they name lines without a file, or lines and parts.
 */
export function withParts(options: UndoOptions): UndoOptions {
  const { file, fromLine, toLine, ...rest } = options;
  for (const part of options.parts ?? []) rangeOf(part);
  if (options.parts?.length === 0) throw new ChronicleError("USAGE", "no part was given", { hint: "name a file" });
  if (fromLine === undefined && toLine === undefined) return options;
  const part = { file: file ?? "", fromLine, toLine };
  rangeOf(part);
  if (file === undefined)
    throw new ChronicleError("USAGE", "lines were given without their file", { hint: "give the file, too" });
  if (options.parts === undefined) return { ...rest, parts: [part] };
  throw new ChronicleError("USAGE", "lines of a file and parts cannot be given together", {
    hint: "give the file and its lines as one of the parts",
  });
}

/** Returns the lines that a part names; `undefined` if it names none. Throws `USAGE` if they are invalid. */
function rangeOf({ fromLine, toLine, hunk }: UndoPart): PickedRange | undefined {
  if (fromLine === undefined && toLine === undefined && hunk !== true) return undefined;
  const from = fromLine ?? 0;
  const to = toLine ?? from;
  const isLine = (line: number): boolean => Number.isSafeInteger(line) && line >= 1;
  if (!isLine(from) || !isLine(to) || to < from) {
    throw new ChronicleError("USAGE", "these are not lines of a file", {
      hint: "give the first line, and perhaps the last one, which comes after it; lines are counted from 1",
    });
  }
  return { from, to, ...(hunk === true ? { isWhole: true } : {}) };
}

/** Returns the parts that the options name; `undefined` if all of the work is meant. */
export async function partsIn(
  context: Context,
  { parts }: Pick<UndoOptions, "parts">,
): Promise<readonly ChosenPart[] | undefined> {
  if (parts === undefined) return undefined;
  const found: ChosenPart[] = [];
  for (const part of parts) {
    const named = await fileNamed(context, part.file);
    found.push({ ...named, range: rangeOf(part), seen: part.seen });
  }
  return found;
}

/** Returns only those parts of the work that are named. Kept-aside files and the state of git belong to none of them. */
export function narrowedToParts<W extends Work>(work: W, parts: readonly ChosenPart[]): W {
  const where = partsInLabel(parts);
  return {
    ...work,
    label: `${work.label}${where}`,
    ...(work.known === undefined ? {} : { known: `${work.known}${where}` }),
    isOwn: (record, at, seq) => parts.some(({ isMeant }) => isMeant(at)) && work.isOwn(record, at, seq),
    keepers: [],
  };
}

/** The maximum number of places that a label names. */
const MOST_PLACES = 5;
const DIGEST_CHARS = 8;
const PLACES = / in \d+ places(?: \([0-9a-f]{8}\))?: /g;

/**
 * Returns what the label of some work has in addition if only these parts are meant. If it does not name all of them, a
 * digest of all tells it apart.
 */
export function partsInLabel(parts: readonly ChosenPart[]): string {
  const places = parts.map(
    ({ path, range }) => `${shownPath(path)}${range === undefined ? "" : `:${rangeInWords(range)}`}`,
  );
  if (places.length === 1) return ` in ${places.join("")}`;
  if (places.length <= MOST_PLACES) return ` in ${places.length} places: ${places.join(", ")}`;
  const digest = sha256(JSON.stringify(places)).slice(0, DIGEST_CHARS);
  return ` in ${places.length} places (${digest}): ${places.slice(0, MOST_PLACES).join(", ")}, …`;
}

/** Returns a label without what `partsInLabel` has added. `paths`: the paths that may be its only part. */
export function withoutParts(label: string, paths: readonly WorkspacePath[]): string {
  const places = [...label.matchAll(PLACES)].at(-1)?.index ?? -1;
  if (places >= 0) return label.slice(0, places);
  const at = greatestOf([-1, ...paths.map((path) => label.lastIndexOf(` in ${shownPath(path)}:`))]);
  return at < 0 ? label : label.slice(0, at);
}

export function rangeInWords({ from, to }: LineRange): string {
  return from === to ? `${from}` : `${from}-${to}`;
}

/** Returns the lines whose hunks are undone at a path; `undefined` if everything there is. */
export function rangesAt(parts: readonly ChosenPart[], path: WorkspacePath): readonly PickedRange[] | undefined {
  const about = parts.filter(({ isMeant }) => isMeant(path));
  if (about.some(({ range }) => range === undefined)) return undefined;
  return about.flatMap(({ range }) => range ?? []);
}

/**
 * Throws `REFUSED` if the path no longer has the content that the caller has seen. The lines are those of that content,
 * so with another one they may mean other hunks.
 */
export function refuseUnseen(parts: readonly ChosenPart[], path: WorkspacePath, present: Entry | undefined): void {
  const now = present?.hash ?? null;
  const other = parts.find((one) => one.path === path && one.seen !== undefined && one.seen !== now);
  if (other === undefined) return;
  throw new ChronicleError("REFUSED", `${shownPath(path)} was changed since it was looked at, so nothing was done`, {
    hint: "look at it again: `chronicle undo -i`, or `--dry-run`",
    data: { path: shownPath(path) },
  });
}
