import type { UndoHunkShape, UndoHunksShape, UndoShape } from "../../api/shapes.ts";
import type { UndoPart, WorkspaceApi } from "../../api/workspace-api.ts";
import { printable, widthOf } from "../../process/printable.ts";
import { usageError } from "../../process/usage-error.ts";
import { type Choice, choicesOf, chosenOf, listedOf, type Picked } from "./chosen-rows.ts";
import { countedLines, patchText } from "../render/patch.ts";
import type { CommandContext } from "./context.ts";
import { KeyPresses } from "./key-presses.ts";

/** The maximum number of columns of a path in the list of files. */
const LONGEST_PATH = 40;

/** Throws `USAGE` if no person can choose at a terminal. In the store's long-lived process, throws `NeedsClient`. */
export function refuseWithoutTerminal(context: CommandContext): void {
  const { served } = context.io;
  if (!context.canAsk) {
    throw usageError(
      "-i asks a person at a terminal, and here is none",
      "`chronicle undo --dry-run` shows what would be taken back; `chronicle undo FILE:10-20 FILE` takes back only " +
        "hunks and files",
    );
  }
  if (served !== undefined) throw served.needsClient("files and hunks are chosen");
}

/** The part of an undo step that a person has chosen. */
export interface ChosenOfStep {
  /** The chosen files and hunks. */
  readonly parts: readonly UndoPart[];
  /** True if the person has chosen everything that the step would do. */
  readonly isAll: boolean;
}

/**
 * Lets a person choose files, and then hunks of each chosen file that has several hunks. `given`: the parts to which
 * the user has already limited the step. Returns `undefined` if the person chooses nothing, or ends the choice.
 */
export async function choosePartsOf(
  context: CommandContext,
  workspace: WorkspaceApi,
  { preview, given }: { readonly preview: UndoShape; readonly given: readonly UndoPart[] | undefined },
): Promise<ChosenOfStep | undefined> {
  const all = choicesOf(preview);
  const paths = context.paths(workspace);
  const shown = (path: string): string => paths.shown(path);
  const files = await chooseFiles(listedOf(all), shown);
  const picked = files === undefined ? undefined : await chooseHunks(context, files, shown);
  const chosen = picked === undefined ? undefined : chosenOf(all, picked, given);
  for (const path of chosen?.stays ?? [])
    context.say(`${shown(path)} stays as it is, because not all beneath it was chosen`);
  if (chosen === undefined || chosen.parts.length === 0) {
    context.say("nothing was changed");
    return undefined;
  }
  const left = (preview.kept_aside?.length ?? 0) + (preview.git?.length ?? 0);
  if (!chosen.isAll && left > 0)
    context.say("the state of git, and files that the rules leave out, come back only if all is chosen");
  return chosen;
}

type Shown = (path: string) => string;

/** Lets a person choose files from a list in which all are selected. Returns `undefined` if the person ends the choice. */
async function chooseFiles(files: readonly Choice[], shown: Shown): Promise<readonly Choice[] | undefined> {
  const { multiselect, isCancel } = await import("@clack/prompts");
  const quit = new AbortController();
  const onKey = (text: string | undefined): void => {
    if (text === "q") quit.abort();
  };
  process.stdin.on("keypress", onKey);
  const answer = await multiselect({
    message: "Take back which files? (space: choose, a: all or none, enter: go on, q: quit)",
    options: files.map((one, i) => ({
      ...{ value: i, label: ending(shown(one.about.path), LONGEST_PATH) },
      hint: [...countsOf(one), ...notesOf(one)].join("; "),
    })),
    initialValues: files.map((_, i) => i),
    required: false,
    showInstructions: false,
    signal: quit.signal,
    output: process.stderr,
  });
  process.stdin.off("keypress", onKey);
  return isCancel(answer) ? undefined : files.filter((_, i) => answer.includes(i));
}

function countsOf({ change, about }: Choice): string[] {
  if (change === undefined) return [];
  if (change.change_type === "created") return ["comes back"];
  if (change.change_type === "deleted") return ["is removed"];
  const counted = countedLines(change);
  if (typeof counted === "string") return [counted];
  const hunks = about.hunks.length > 1 ? `, ${about.hunks.length} hunks` : "";
  return [`+${counted.added} −${counted.removed}${hunks}`];
}

const MOST_EDITORS = 3;

function notesOf({ about: { edited_by: editors }, isConflict }: Choice): string[] {
  const names = editors.flatMap((actor) => (actor === null ? [] : [printable(actor) || "somebody"]));
  const more = names.length > MOST_EDITORS ? " and others" : "";
  return [
    ...(names.length === 0 ? [] : [`edited since by ${names.slice(0, MOST_EDITORS).join(", ")}${more}`]),
    ...(editors.includes(null) ? ["edited since, not recorded yet"] : []),
    ...(isConflict ? ["conflicts"] : []),
  ];
}

/** Returns a text that takes at most `most` columns. If the text is wider, `…` replaces its beginning. */
function ending(text: string, most: number): string {
  if (widthOf(text) <= most) return text;
  const chars = Array.from(text);
  while (chars.length > 0 && widthOf(chars.join("")) >= most) chars.shift();
  return `…${chars.join("")}`;
}

/**
 * Lets a person choose hunks of each file that has several hunks. Returns `undefined` if the person ends the choice.
 */
async function chooseHunks(
  context: CommandContext,
  files: readonly Choice[],
  shown: Shown,
): Promise<Picked[] | undefined> {
  const found: Picked[] = [];
  using keys = files.some(({ about }) => about.hunks.length > 1) ? new KeyPresses() : undefined;
  for (const { about } of files) {
    const { hunks } = about;
    const picked = keys === undefined || hunks.length < 2 ? hunks : await hunksOfFile(context, { about, shown, keys });
    if (picked === undefined) return undefined;
    if (picked.length > 0 || hunks.length === 0) found.push({ about, hunks: picked });
  }
  return found;
}

interface Asking {
  readonly about: UndoHunksShape;
  readonly shown: Shown;
  readonly keys: KeyPresses;
}

const HELP = [
  "y - take this hunk back",
  "n - leave this hunk",
  "a - take this hunk and all later ones of this file back",
  "d - leave this hunk and all later ones of this file",
  "q - quit, and change nothing",
  "? - this help",
];

/** Asks for each hunk of a file, as `git add -p` does. Returns `undefined` if the person quits. */
async function hunksOfFile(
  context: CommandContext,
  { about: { path, hunks }, shown, keys }: Asking,
): Promise<readonly UndoHunkShape[] | undefined> {
  const picked: UndoHunkShape[] = [];
  for (const [i, hunk] of hunks.entries()) {
    context.say(context.paintErr("bold", shown(path)));
    for (const line of patchText(hunk.patch, { paint: context.paintErr, escape: true })) context.say(line);
    if (!hunk.merges) context.say(context.paintErr("yellow", "does not merge with later edits: it becomes a conflict"));
    const key = await answerTo(context, keys, `(${i + 1}/${hunks.length}) Take this hunk back [y,n,a,d,q,?]? `);
    if (key === "q") return undefined;
    if (key === "y") picked.push(hunk);
    if (key === "a") return [...picked, ...hunks.slice(i)];
    if (key === "d") return picked;
  }
  return picked;
}

type Answer = "y" | "n" | "a" | "d" | "q";

const isAnswer = (key: string): key is Answer => /^[ynadq]$/.test(key);

/**
 * Asks a question until the person presses a key that answers it, and returns this key. The end of the input counts as
 * `q`.
 */
async function answerTo(context: CommandContext, keys: KeyPresses, question: string): Promise<Answer> {
  for (;;) {
    context.io.err.write(context.paintErr("bold", question));
    const key = (await keys.next()) ?? "q";
    context.io.err.write(`${isAnswer(key) || key === "?" ? key : ""}\n`);
    if (isAnswer(key)) return key;
    for (const line of HELP) context.say(line);
  }
}
