import type { ChangeShape } from "../../api/shapes.ts";
import { type DiffInput, type GitMode, patchWithoutText } from "../../core/text/text-diff.ts";
import { pathFromBytes } from "../../core/values/path.ts";
import { type Format, type Paint, printable, printableText } from "../../process/printable.ts";
import { withRenamePatches } from "../../api/renamed-changes.ts";
import { modeText, nameOfChange, SAME_CONTENT } from "./changes.ts";
import { columns } from "./columns.ts";

/**
 * The part of a patch to which a line belongs: the names and modes of a file, the head of a hunk, or the body of a
 * hunk.
 */
type Part = "header" | "hunk" | "body";

/**
 * Yields each line with its part. A line of a body begins with a sign, a space or a backslash. Such a line is therefore
 * never taken for the first line of the next file or the head of a hunk.
 */
function* partsOf(lines: readonly string[]): Generator<readonly [Part, string]> {
  let isBody = false;
  for (const line of lines) {
    const isHunk = line.startsWith("@@");
    if (line.startsWith("diff --git ")) isBody = false;
    yield [isHunk ? "hunk" : isBody ? "body" : "header", line];
    isBody ||= isHunk;
  }
}

const COLOURS: Readonly<Record<Part, readonly (readonly [RegExp, Format])[]>> = {
  header: [[/^(diff |--- |\+\+\+ )/, "bold"]],
  hunk: [[/^/, "cyan"]],
  body: [
    [/^\+/, "green"],
    [/^-/, "red"],
  ],
};

function coloured(lines: readonly string[], paint: Paint): string[] {
  return [...partsOf(lines)].map(([part, line]) => {
    const found = COLOURS[part].find(([pattern]) => pattern.test(line));
    return found === undefined ? line : paint(found[1], line);
  });
}

/**
 * Returns the lines that replace a missing patch. For a changed content, these are comments and a patch without text.
 * `git apply` refuses a patch without text, so the change is not lost silently. For a folder, or if only permissions
 * have changed, the only line is a comment.
 */
function withoutText(change: ChangeShape): string[] {
  const why = whyNoText(change);
  if (why !== undefined) return [...why, ...patchWithoutText(sidesOf(change))];
  const path = printable(change.path);
  if (change.kind === "dir" && change.change_type !== "permissions_changed")
    return [`# ${path}/: folder ${change.change_type}`];
  return [
    `# ${path}: permissions changed ${modeText(change.before_permissions)} → ${modeText(change.after_permissions)}`,
  ];
}

/** Returns comments with the reason why a changed content has no patch; `undefined` if no content has changed. */
function whyNoText(change: ChangeShape): string[] | undefined {
  const what = `# ${printable(change.path)}: ${change.change_type}`;
  // No comment is needed, because the patch without text has git's line for binary files.
  if (change.binary === true) return [];
  if (change.too_large === true) return [`${what}, too large to compare`];
  if (change.no_room === true)
    return [`${what}, left out: the earlier patches fill the answer; ask for this path alone`];
  if (change.protected === true) return [`${what}, a secret by its name: no patch shows it`];
  if (change.erased === true) return [`${what}, one of its contents was erased`];
  if (change.pruned === true) return [`${what}, its content was pruned`];
  return undefined;
}

/** The content of a side that exists. It is empty, because `patchWithoutText` reads no contents. */
const THERE = new Uint8Array();

function sidesOf(change: ChangeShape): DiffInput {
  const { path, path_b64: bytes, change_type: type } = change;
  return {
    path: bytes === undefined ? path : pathFromBytes(Buffer.from(bytes, "base64")),
    ...(type === "created" ? {} : { before: THERE, beforeMode: gitMode(change, change.before_permissions) }),
    ...(type === "deleted" ? {} : { after: THERE, afterMode: gitMode(change, change.after_permissions) }),
  };
}

function gitMode({ kind }: ChangeShape, permissions = 0o644): GitMode {
  if (kind === "symlink") return "120000";
  return (permissions & 0o100) === 0 ? "100644" : "100755";
}

/**
 * Returns the lines of the changes' patches. With `escape` (for a terminal), control characters in the lines are
 * escaped.
 */
export function patchLines(
  changes: readonly ChangeShape[],
  style: { readonly paint: Paint; readonly escape: boolean },
): string[] {
  return withRenamePatches(changes).flatMap((change) => {
    if (change.patch === undefined || change.patch === "") {
      return coloured(
        withoutText(change).map((line) => (style.escape ? printableText(line) : line)),
        style.paint,
      );
    }
    return patchText(change.patch, style);
  });
}

/** Returns the lines of one patch. `escape` has the same meaning as for `patchLines`. */
export function patchText(patch: string, style: { readonly paint: Paint; readonly escape: boolean }): string[] {
  const text = style.escape ? printableText(patch) : patch;
  return coloured(text.replace(/\n$/, "").split("\n"), style.paint);
}

export interface LineCounts {
  readonly added: number;
  readonly removed: number;
}

function countLines(patch: string): LineCounts {
  const counts = { added: 0, removed: 0 };
  for (const [part, line] of partsOf(patch.split("\n"))) {
    if (part !== "body") continue;
    if (line.startsWith("+")) counts.added += 1;
    else if (line.startsWith("-")) counts.removed += 1;
  }
  return counts;
}

/** Returns the reason, in a few words, why the lines of a change are not counted. */
function whyNotCounted(change: ChangeShape): string {
  if (change.from !== undefined && change.similarity === 100) return SAME_CONTENT;
  if (change.binary === true) return "binary";
  if (change.too_large === true) return "too large";
  if (change.protected === true) return "protected";
  if (change.erased === true) return "erased";
  if (change.pruned === true) return "pruned";
  if (change.no_room === true) return "not counted";
  return change.change_type.replace("_", " ");
}

/**
 * Returns the numbers of added and removed lines of a change that was requested with its patch. If the lines are not
 * counted, returns the reason in a few words.
 */
export function countedLines(change: ChangeShape): LineCounts | string {
  const { patch, change_type: type } = change;
  const isCounted = patch !== undefined && patch !== "" && type !== "permissions_changed" && change.similarity !== 100;
  return isCounted ? countLines(patch) : whyNotCounted(change);
}

/**
 * Returns one line for each change, with the numbers of added and removed lines, or with the reason why the lines are
 * not counted. The changes must have been requested with patches.
 */
export function statLines(
  changes: readonly ChangeShape[],
  style: { readonly paint: Paint; readonly shown: (path: string) => string },
): string[] {
  const rows = withRenamePatches(changes).map((change) => {
    const name = `  ${nameOfChange({ ...change, kind: "file" }, style.shown)}`;
    const counts = countedLines(change);
    if (typeof counts === "string") return [name, "", "", style.paint("dim", counts)];
    const { added, removed } = counts;
    return [name, style.paint("green", `+${added}`), style.paint("red", `-${removed}`), ""];
  });
  return columns(rows, "<>><");
}
