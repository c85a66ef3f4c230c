import * as z from "zod";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { FileContent, FileShape } from "../../file-api.ts";
import type { WorkspaceApi } from "../../workspace-api.ts";
import * as calls from "../calls/file-calls.ts";
import { workspaceRoute, type WorkspaceRoute, withoutUndefined } from "../row.ts";
import { eventStart, numberOf, PAGE, pageWithMore } from "../pages.ts";
import { bits, by, count, flag, limit, many, moment, paging, path, text, word } from "../fields.ts";
import type { ContentReply } from "../route.ts";
import { refuseVirtual } from "../meant-by-path.ts";

const tag = "files";
const at = moment("the moment to read at (default: the last recorded state)").optional();
/** A read with `fresh` first scans the disk: in the worst case, the whole folder. */
const scanning = { heavy: "scan", heavyWith: ["fresh"] } as const;

const fresh = flag("record edits on disk first, if the workspace has a folder").optional();
const as = (meant: "content" | "history" | "iteration") =>
  z
    .enum([meant])
    .describe("the meaning of the path; needed if a file has a path that ends like `/history` or `/at/3`")
    .optional();

/**
 * If `wanted` is true, captures the present state of the path `what` and of everything beneath it. `""` is the whole
 * workspace. Does nothing in a hosted workspace, because it has no folder.
 */
async function captured(on: WorkspaceApi, wanted: boolean | undefined, what: string): Promise<void> {
  if (wanted === true && on.path !== "") await on.record([what === "" ? "." : what]);
}

function shapeOf(content: FileContent): FileShape {
  const { path: shown, path_b64, kind, size, hash, permissions, mtime_ms, mtime_ns, iteration, seq } = content;
  const [exact, rest] = [withoutUndefined({ path_b64 }), withoutUndefined({ mtime_ns })];
  return { path: shown, ...exact, kind, size, hash, permissions, mtime_ms, ...rest, iteration, seq };
}

function contentOf(content: FileContent): ContentReply {
  const { path: shown, kind, hash, size } = content;
  if (kind === "dir") {
    throw new ChronicleError("REFUSED", `${shown} is a folder`, {
      hint: "GET …/files?path=… lists the folder; GET …/file?path=… returns what is recorded of it",
      data: { path: shown },
    });
  }
  return { hash, size, file: shapeOf(content), pieces: (range) => content.pieces(range) };
}

const list = workspaceRoute(calls.listFiles, {
  tag,
  role: "reader",
  ...scanning,
  summary: "List files",
  description:
    "The paths are sorted, and folders are among them. With `depth=1`, only direct children are listed. To get the next page, give `next` as `after`.",
  query: z.strictObject({
    path: path("list only what is beneath this folder").optional(),
    depth: count("the number of levels of folders to list (default: all)", { least: 1 }).optional(),
    at,
    limit,
    after: path("continue after this path; give `next` of the previous page").optional(),
    fresh,
  }),
  answer: async (on, { query: { fresh: wanted, ...options } }) => {
    await captured(on, wanted, options.path ?? "");
    return on.files({ limit: PAGE, ...options });
  },
});

const describe = workspaceRoute(calls.describeFile, {
  tag,
  role: "reader",
  ...scanning,
  summary: "What is recorded of one path, without its content",
  query: z.strictObject({
    path: path("the path"),
    at,
    iteration: z
      .union([z.literal("last"), count("the number of the iteration", { least: 1 })])
      .describe(
        "describe this iteration, instead of the state at a moment; `last`: the last iteration that is not a deletion",
      )
      .optional(),
    fresh,
  }),
  answer: async (on, { query: { path: asked, fresh: wanted, at: when, iteration } }) => {
    await captured(on, wanted, asked);
    const number = iteration === "last" ? (await on.cat(asked)).iteration : iteration;
    return shapeOf(await on.file(asked, withoutUndefined({ at: when, iteration: number })));
  },
});

const read = workspaceRoute(calls.readFile, {
  tag,
  role: "reader",
  ...scanning,
  summary: "Read a file",
  description:
    "The answer is the content of a file, or the target of a link. `ETag` is the hash of the content, and the `Chronicle-*` headers say what is recorded " +
    "of the file. `Range` can select a part of the content.",
  query: z.strictObject({ at, fresh, as: as("content") }),
  answer: async (on, { params, query: { fresh: wanted, at: when } }) => {
    const asked = params["path"] ?? "";
    await captured(on, wanted, asked);
    return contentOf(await on.file(asked, withoutUndefined({ at: when })));
  },
});

const atIteration = workspaceRoute(calls.fileAtIteration, {
  tag,
  role: "reader",
  summary: "Read a file as it was at an iteration",
  description: "`last` is the last iteration that is not a deletion.",
  query: z.strictObject({ as: as("iteration") }),
  answer: async (on, { params: { path: asked = "", n = "" } }) => {
    if (n !== "last" && !/^[1-9]\d{0,14}$/.test(n))
      throw new ChronicleError("USAGE", "an iteration is a number, or `last`");
    const iteration = n === "last" ? (await on.cat(asked)).iteration : Number(n);
    return contentOf(await on.file(asked, { iteration }));
  },
});

const history = workspaceRoute(calls.fileHistory, {
  tag: "history",
  role: "reader",
  summary: "The iterations of a file, oldest first",
  description: "Each state that was recorded of the path, deletions included. `timestamp` is epoch milliseconds.",
  heavy: "answer",
  heavyWith: ["patch"],
  query: z.strictObject({
    ...paging,
    as: as("history"),
    last: count("only the newest iterations, at most this many", { least: 1 }).optional(),
    patch: flag("add what each iteration changed, as a unified diff").optional(),
  }),
  answer: async (on, { params, query: { limit: most = PAGE, cursor, last, patch } }) => {
    const after = cursor === undefined ? {} : { after: numberOf(cursor) };
    const asked = { limit: most + 1, ...after, ...withoutUndefined({ last, patch }) };
    const found = await on.history(params["path"] ?? "", asked);
    return pageWithMore(found, most, ({ iteration }) => String(iteration));
  },
});

const blame = workspaceRoute(calls.blame, {
  tag: "history",
  role: "reader",
  heavy: "history",
  summary: "The lines of a file, each with who wrote it",
  description:
    "Without `at`, edits on disk that are not recorded yet are among the lines. A file that was renamed is followed to its earlier paths. " +
    "Lines that an undo or a restore brought back belong to whoever wrote them first.",
  query: z.strictObject({
    path: path("the file"),
    at: moment("the moment to read at (default: the present content)").optional(),
    from_line: count("the first line", { least: 1 }).optional(),
    to_line: count("the last line", { least: 1 }).optional(),
  }),
  answer: (on, { query: { path: asked, at: when, from_line, to_line } }) =>
    on.blame(asked, withoutUndefined({ at: when, fromLine: from_line, toLine: to_line })),
});

const textHistory = workspaceRoute(calls.textHistory, {
  tag: "history",
  role: "reader",
  heavy: "history",
  summary: "The iterations that changed how often a text occurs in a file, newest first",
  description:
    "The text is not a pattern. For readers and agents, files that are secrets by their names are not searched.",
  query: z.strictObject({
    text: text("the text", 10_000),
    path: path("search only this file, or files beneath this folder").optional(),
    limit,
  }),
  answer: (on, { query: { text: wanted, ...options } }) => on.textHistory(wanted, withoutUndefined(options)),
});

const grep = workspaceRoute(calls.grep, {
  tag: "history",
  role: "reader",
  heavy: "history",
  summary: "The lines that match a pattern, at a moment or at any time",
  description:
    "The pattern is a JavaScript regular expression, which is matched with each line separately. A pattern with `\\p{`, `\\u{` or a character beyond U+FFFF, such as an " +
    "emoji, is read with the flag `u`. With `history`, all kept contents are searched, and each match has " +
    "the changes that brought and removed its line. For readers and agents, files that are secrets by their names are not searched. If the search of a content takes too long, " +
    "`complete` is false, and `unsearched` names the content.",
  query: z.strictObject({
    pattern: text("the pattern", 10_000),
    path: many(
      "search only this file, or files beneath this folder; repeat the field for further paths",
      200,
    ).optional(),
    at,
    history: flag("search all kept contents of any time").optional(),
    ignore_case: flag("treat upper and lower case alike").optional(),
    fixed: flag("take the pattern as plain text, and not as a regular expression").optional(),
    files_only: flag("return each file once, without its lines").optional(),
    limit: count("the maximum number of matches in the answer (default and at most 1,000)", {
      least: 1,
      most: 1_000,
    }).optional(),
  }),
  answer: (on, { query: { pattern, path: paths, ignore_case: ignoreCase, files_only: filesOnly, ...options } }) =>
    on.grep(pattern, withoutUndefined({ paths, ignoreCase, filesOnly, ...options })),
});

const permissions = bits(
  "permission bits, in decimal, or in octal with a leading 0: 420 and 0644 both mean `rw-r--r--`; at most 511 (0777)",
).optional();

const put = workspaceRoute(calls.putFile, {
  tag,
  role: "agent",
  summary: "Write a file",
  description:
    'The body is the content, of any length. With `If-Match: "<hash>"`, the file is written only if it still has that content. With ' +
    "`If-None-Match: *`, the file is written only if nothing is at the path. Otherwise the answer is 412, and nothing is changed. " +
    "Missing parent folders are made.",
  query: z.strictObject({
    permissions,
    kind: z
      .enum(["file", "symlink"])
      .describe("`file` (default), or `symlink`: a link, with the body as its target")
      .optional(),
    ...by,
  }),
  bytes: true,
  conditional: true,
  answer: async (on, { params, query, content, condition }) =>
    on.putFile(refuseVirtual(params["path"] ?? ""), content, { ...query, ...condition }),
});

const folder = workspaceRoute(calls.makeFolder, {
  tag,
  role: "agent",
  summary: "Make a folder",
  description: "A folder that exists stays as it is.",
  query: z.strictObject({ permissions, ...by }),
  answer: async (on, { params, query, condition: { requestId } }) =>
    on.makeFolder(refuseVirtual(params["path"] ?? ""), { ...query, ...withoutUndefined({ requestId }) }),
});

const remove = workspaceRoute(calls.deleteFile, {
  tag,
  role: "agent",
  summary: "Delete a file, a link, or a folder with all that is in it",
  description: "The deleted contents stay in the history. `If-Match` works as it does for writing a file.",
  query: z.strictObject(by),
  conditional: true,
  answer: (on, { params, query, condition }) => on.deleteFile(params["path"] ?? "", { ...query, ...condition }),
});

const move = workspaceRoute(calls.moveFile, {
  tag,
  role: "agent",
  summary: "Move a file, a link, or a folder with all that is in it",
  description: "`If-Match` is compared with the content at `from`.",
  body: z.strictObject({
    from: path("the path to move"),
    to: path("the new path itself, not the folder to move into"),
    overwrite: z.boolean().describe("replace an existing file or link").optional(),
    ...by,
  }),
  conditional: true,
  answer: async (on, { body: { from, to, ...options }, condition }) =>
    on.moveFile(from, refuseVirtual(to), { ...options, ...condition }),
});

const describeBlob = workspaceRoute(calls.describeBlob, {
  tag,
  role: "reader",
  summary: "The size of a content",
  query: z.strictObject({ hash: word("the SHA-256 of the content") }),
  answer: async (on, { query: { hash } }) => ({ hash, size: (await on.blob(hash)).size }),
});

const blob = workspaceRoute(calls.readBlob, {
  tag,
  role: "reader",
  summary: "Read a content by its hash",
  description: "Only contents that a path of this workspace has or had can be read.",
  answer: async (on, { params }) => {
    const hash = params["hash"] ?? "";
    const content = await on.blob(hash);
    return { hash, size: content.size, pieces: (range) => content.pieces(range) };
  },
});

const events = workspaceRoute(calls.followEvents, {
  tag: "history",
  role: "reader",
  summary: "Follow the events of the log, as they are recorded",
  description:
    "The answer is a stream of server-sent events. `id` is the seq of an event of the log, and `data` is that event. With `Last-Event-ID` " +
    "(or `after`), the stream continues after the event with that seq, and leaves out and repeats nothing. Otherwise the stream begins " +
    "with the next event that is recorded.",
  query: z.strictObject({
    after: count("only events after this seq").optional(),
    prefix: z.string().max(1_200).describe("only events of records whose id begins with this text").optional(),
  }),
  answer: async (on, { query: { after: asked, ...options }, lastEventId, signal }) => {
    const after = await eventStart(on, lastEventId ?? asked);
    return { after, events: on.events({ ...options, after, signal }) };
  },
});

const headChanges = workspaceRoute(calls.followHead, {
  tag: "history",
  role: "reader",
  summary: "Follow how far the history has grown",
  description:
    "The answer is a stream of server-sent events. The first one has the present head, and is sent at once. Another one is sent soon after each change of the history. " +
    "Changes in quick succession are sent as one: at most ten times a second, and less often if many clients follow.",
  answer: async (on, { signal }) => ({ after: await eventStart(on, undefined), events: on.followHead({ signal }) }),
});

export const FILE_ROWS: readonly WorkspaceRoute[] = [
  list,
  describe,
  history,
  blame,
  textHistory,
  grep,
  atIteration,
  read,
  put,
  folder,
  remove,
  move,
  describeBlob,
  blob,
  events,
  headChanges,
];
