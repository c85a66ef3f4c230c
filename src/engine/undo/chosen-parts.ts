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
import { fileNamed } from "./file-named.ts";

/** A file or folder of which an undo takes back all or some changes. */
export interface ChosenPart {
  readonly path: WorkspacePath;
  /**
   * True for `path`, for the paths beneath it, and for the other files of the SQLite database to which `path` belongs.
   */
  readonly isMeant: (path: WorkspacePath) => boolean;
  /** The lines whose hunks are undone; `undefined` if all changes of the work at the path are undone. */
  readonly range?: PickedRange | undefined;
  /** The hash of the content that the caller has seen; `null` if the caller has seen that the path has no content. */
  readonly seen?: string | null | undefined;
}

/** The parts of some work to which an undo is limited. */
export interface ChosenParts {
  readonly parts: readonly ChosenPart[];
  /** The name of the work, for messages. */
  readonly work: string;
}

/**
 * Returns the options with `parts` in place of `file`, `fromLine` and `toLine`. Returns options without lines
 * unchanged. Throws `USAGE` for lines without a file, and for lines together with parts.
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

/** Returns the lines that a part names; `undefined` if the part names no lines. Throws `USAGE` for invalid lines. */
function rangeOf({ fromLine, toLine, hunk }: UndoPart): PickedRange | undefined {
  if (fromLine === undefined && toLine === undefined && hunk !== true) return undefined;
  const from = fromLine ?? 0;
  const to = toLine ?? from;
  const isLine = (line: number): boolean => Number.isSafeInteger(line) && line >= 1;
  if (!isLine(from) || !isLine(to) || to < from) {
    throw new ChronicleError("USAGE", "the numbers of the lines are invalid", {
      hint: "give the number of the first line and, for a longer range, of the last line; lines are counted from 1",
    });
  }
  return { from, to, ...(hunk === true ? { isWhole: true } : {}) };
}

/** Returns the parts that the options name; `undefined` if the options name none, so that the whole work is meant. */
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

/**
 * Returns the work, limited to these parts. Kept-aside files and the state of git belong to no part, and are left out.
 */
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

/** The maximum number of parts that a label names. */
const MOST_PLACES = 5;
const DIGEST_CHARS = 8;
const PLACES = / in \d+ places(?: \([0-9a-f]{8}\))?: /g;

/**
 * Returns the text that is appended to the label of some work if only these parts of the work are meant. A text that
 * does not name all parts has a digest of all parts, so that different parts give different labels.
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

/**
 * Returns a label without the text that `partsInLabel` appended. `paths` must have the path that a label with a single
 * part may name.
 */
export function withoutParts(label: string, paths: readonly WorkspacePath[]): string {
  const places = [...label.matchAll(PLACES)].at(-1)?.index ?? -1;
  if (places >= 0) return label.slice(0, places);
  const at = greatestOf([-1, ...paths.map((path) => label.lastIndexOf(` in ${shownPath(path)}:`))]);
  return at < 0 ? label : label.slice(0, at);
}

export function rangeInWords({ from, to }: LineRange): string {
  return from === to ? `${from}` : `${from}-${to}`;
}

/** Returns the lines whose hunks are undone at a path; `undefined` if all changes at the path are undone. */
export function rangesAt(parts: readonly ChosenPart[], path: WorkspacePath): readonly PickedRange[] | undefined {
  const about = parts.filter(({ isMeant }) => isMeant(path));
  if (about.some(({ range }) => range === undefined)) return undefined;
  return about.flatMap(({ range }) => range ?? []);
}

/**
 * Throws `REFUSED` if the path no longer has the content that the caller has seen. The given lines are lines of the
 * seen content. In another content, the same lines may belong to other hunks.
 */
export function refuseUnseen(parts: readonly ChosenPart[], path: WorkspacePath, present: Entry | undefined): void {
  const now = present?.hash ?? null;
  const other = parts.find((one) => one.path === path && one.seen !== undefined && one.seen !== now);
  if (other === undefined) return;
  throw new ChronicleError("REFUSED", `${shownPath(path)} was changed since it was looked at, so nothing was done`, {
    hint: "look at the changes again: `chronicle undo -i`, or `--dry-run`",
    data: { path: shownPath(path) },
  });
}
