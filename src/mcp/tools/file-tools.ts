import * as z from "zod";
import type { IterationShape } from "../../api/shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Answer } from "../tool-answer.ts";
import { inWorkspace, limit, moment, NARROW_PATHS, patch, path, paths, pathsIn } from "../arguments.ts";
import { counted, oneLine } from "../one-line.ts";
import { listed } from "../fit.ts";
import {
  cappedChanges,
  cappedCoverage,
  changeLines,
  countsOf,
  coverageLines,
  renamedAsOne,
  said,
  timeOf,
} from "../show.ts";
import { shortId } from "../short-ids.ts";
import * as output from "../outputs.ts";
import { defineTool, type Tool } from "../tool.ts";

const MAX_BYTES = 32_000;

/** The maximum length, in characters, of a file's name in an answer with the file's content. */
const LONGEST_NAME = 120;

/** The number of characters that is reserved for the text of an answer besides a piece of a content and the path. */
const BESIDE_PIECE = 200;

/** The minimum size, in bytes, of the piece that is read if the call names no size. */
const SMALLEST_PIECE = 100;

const diff = defineTool({
  name: "diff",
  title: "Compare two moments",
  description:
    "Lists what differs between two moments of this workspace: by default, between the last snapshot and the files on disk " +
    "(`now`). With `patch`, the answer has the changed lines.",
  input: z.strictObject({
    from: moment.default("latest"),
    to: moment.default("now"),
    paths: paths.optional(),
    patch,
  }),
  output: {
    ...{ from: output.text, to: output.text, from_seq: output.count, to_seq: output.count },
    ...{ ...output.changes, coverage: output.coverage.optional() },
  },
  effect: "reads",
  hints: { NOT_FOUND: "list_history shows the moments; find_file finds recorded paths" },
  narrow: NARROW_PATHS,
  run: async (workspace, { from, to, paths: given, patch: withPatch }): Promise<Answer> => {
    const how = { patch: withPatch, renames: true, ...pathsIn(workspace, given) };
    const { coverage, ...result } = await workspace.diff(from, to, how);
    const changes = renamedAsOne(result.changes, withPatch);
    return {
      summary: `From ${said(result.from)} to ${said(result.to)}: ${countsOf(changes)}.`,
      lines: [
        changeLines(changes),
        ...(coverage === undefined ? [] : coverageLines(coverage, "Not everything was compared:")),
      ],
      next:
        changes.length === 0
          ? []
          : [
              `restore {"moment":${JSON.stringify(from)},"paths":[…],"dry_run":true} shows what going back to it would change.`,
            ],
      data: {
        ...result,
        ...cappedChanges(changes),
        ...(coverage === undefined ? {} : { coverage: cappedCoverage(coverage) }),
      },
    };
  },
});

const fileHistory = defineTool({
  name: "file_history",
  title: "History of one file",
  description:
    "Lists all recorded states of one file, newest first, each with its iteration number, its time, its size, and who made it. " +
    "read_version reads one of these states.",
  input: z.strictObject({ path, limit: limit(30, 200) }),
  output: { path: output.path, iterations: z.array(output.iteration), total: output.count },
  effect: "reads",
  hints: { NOT_FOUND: "find_file finds recorded paths by their name, deleted ones included" },
  run: async (workspace, { path: given, limit: most }): Promise<Answer> => {
    const inner = inWorkspace(workspace, given);
    const all = (await workspace.history(inner)).toReversed();
    const iterations = all.slice(0, most);
    return {
      summary: `${oneLine(inner)}: ${counted(all.length, "iteration")}${all.length > most ? `; the newest ${most}` : ""}, newest first:`,
      lines: [listed(iterations.map(iterationLine), all.length)],
      next: [
        `read_version {"path":${JSON.stringify(inner)},"iteration":N} reads one iteration.`,
        `restore {"moment":"seq:N","paths":[${JSON.stringify(inner)}]} brings back the state at seq N.`,
      ],
      data: { path: inner, iterations, total: all.length },
    };
  },
});

function iterationLine({ iteration, timestamp, cause, actor, action, seq, size, deleted }: IterationShape): string {
  const what = deleted === true ? "deleted" : counted(size, "byte");
  const whose = `${cause} by ${oneLine(actor, 40)}${action === undefined ? "" : `, action ${shortId(action)}`}`;
  return `${iteration}  ${timeOf(new Date(timestamp).toISOString())}  ${what}  (${whose}, seq:${seq})`;
}

const readVersion = defineTool({
  name: "read_version",
  title: "Read a file as it was",
  description:
    "Reads the content of a file at one of its iterations (default: the newest that is not a deletion). The content is text, or base64 " +
    "if its bytes are not text. A long content comes in pieces: read the next piece with `offset`. Changes nothing on disk.",
  input: z.strictObject({
    path,
    iteration: z.number().int().min(1).describe("the number of the iteration, as file_history shows it").optional(),
    offset: z.number().int().min(0).default(0).describe("begin at this byte"),
    max_bytes: z
      .number()
      .int()
      .min(1)
      .max(MAX_BYTES)
      .optional()
      .describe(`the maximum number of bytes to read (default: 1,000; up to ${MAX_BYTES})`),
  }),
  output: {
    path: output.path,
    iteration: output.count,
    size: output.count,
    kind: output.text,
    offset: output.count,
    encoding: z.enum(["utf8", "base64"]),
    content: output.text,
    next_offset: output.count.nullable(),
  },
  effect: "reads",
  hints: {
    NOT_FOUND: "file_history lists the iterations; find_file finds recorded paths by their name",
    PRUNED: "that content was pruned; file_history shows which iterations are left",
    ERASED: "a person erased that content; other iterations may be left",
  },
  run: async (workspace, { path: given, iteration, offset, max_bytes: wanted }, room): Promise<Answer> => {
    const content = await workspace.cat(inWorkspace(workspace, given), iteration);
    const { path: inner, size, kind } = content;
    const beside = oneLine(inner, LONGEST_NAME).length + BESIDE_PIECE;
    const most = wanted ?? Math.max(SMALLEST_PIECE, Math.min(Math.floor((room.text * 2) / 3), room.text - beside));
    const bytes = await pieceOf(content.pieces(), offset, most);
    const end = offset + bytes.length;
    const text = wholeText(bytes, end < size);
    const shown = text ?? inBase64(wanted === undefined ? bytes.subarray(0, Math.ceil(most * 0.75)) : bytes);
    const next = offset + shown.bytes;
    return {
      summary: `${oneLine(inner, LONGEST_NAME)}, iteration ${content.iteration}: bytes ${offset} to ${next} of ${size} (${shown.encoding}).`,
      lines: [listed([shown.content])],
      // A piece is never cut, because the next step continues after the piece.
      extra: wanted === undefined ? Math.max(0, most + beside - room.text) : shown.content.length,
      next: next < size && shown.bytes > 0 ? [`read_version with "offset":${next} reads the next piece.`] : [],
      data: {
        ...{ path: inner, iteration: content.iteration, size, kind, offset },
        ...{ encoding: shown.encoding, content: shown.content, next_offset: next < size ? next : null },
      },
    };
  },
});

/** Returns bytes in base64, which has four characters for three bytes. */
function inBase64(bytes: Buffer): Piece {
  return { encoding: "base64", content: bytes.toString("base64"), bytes: bytes.length };
}

/** Returns at most `most` bytes from `offset`, and stops reading after them. */
async function pieceOf(pieces: AsyncIterable<Uint8Array>, offset: number, most: number): Promise<Buffer> {
  const kept: Uint8Array[] = [];
  let at = 0;
  for await (const piece of pieces) {
    const from = Math.max(offset - at, 0);
    const to = Math.min(offset + most - at, piece.length);
    if (from < to) kept.push(piece.subarray(from, to));
    at += piece.length;
    if (at >= offset + most) break;
  }
  return Buffer.concat(kept);
}

/** A piece of a content, with the number of its bytes. */
interface Piece {
  readonly encoding: "utf8" | "base64";
  readonly content: string;
  readonly bytes: number;
}

/**
 * Returns bytes as text, with the number of bytes in the text. Returns `undefined` if the bytes are not UTF-8 or
 * contain a NUL. `wasCut`: true if the file continues after the bytes. An incomplete character at the end of the bytes
 * is then left out.
 */
function wholeText(bytes: Buffer, wasCut: boolean): Piece | undefined {
  // At least one byte is kept, so that a client that requests the next piece makes progress.
  const most = wasCut ? Math.min(3, bytes.length - 1) : 0;
  for (let dropped = 0; dropped <= most; dropped += 1) {
    const kept = bytes.subarray(0, bytes.length - dropped);
    const content = kept.toString("utf8");
    if (!content.includes("\0") && Buffer.from(content).equals(kept))
      return { encoding: "utf8", content, bytes: kept.length };
  }
  return undefined;
}

const findFile = defineTool({
  name: "find_file",
  title: "Find recorded paths",
  description: "Finds recorded paths by their file name, in any folder; deleted files are among them.",
  input: z.strictObject({ name: z.string().min(1).max(255).describe("a file's name, without its folder") }),
  output: { paths: output.texts, total: output.count },
  effect: "reads",
  run: async (workspace, { name }): Promise<Answer> => {
    if (name.includes("/")) {
      throw new ChronicleError("USAGE", "a file's name has no / in it", {
        hint: "give only the last part of the path",
      });
    }
    const found = await workspace.find(name);
    return {
      summary: `${counted(found.length, "path")} named ${oneLine(name)}.`,
      lines: [
        listed(
          found.slice(0, 100).map((one) => oneLine(one)),
          found.length,
        ),
      ],
      data: { paths: found.slice(0, 100), total: found.length },
    };
  },
});

export const FILE_TOOLS: readonly Tool[] = [diff, fileHistory, readVersion, findFile];
