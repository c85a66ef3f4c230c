import * as z from "zod";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { StoreApi } from "../../store-api.ts";
import * as calls from "../calls/store-calls.ts";
import { storeRoute, type StoreRoute, needsWholeStore, withoutUndefined } from "../row.ts";
import { bool, moment, number, paging, path, word } from "../fields.ts";
import { pageOf } from "../pages.ts";

// The store that the server passes to these rows has only the workspaces that the caller may see.

const tag = "workspaces";

function notThere(id: string): ChronicleError {
  return new ChronicleError("NOT_FOUND", `there is no workspace ${id}`, {
    hint: "give its whole id, or its exact name",
  });
}

const me = storeRoute(calls.me, {
  tag: "server",
  role: "reader",
  summary: "Who the caller is, and which workspaces the caller may see",
  answer: (_on, asked) => Promise.resolve(asked.me),
});

const list = storeRoute(calls.listWorkspaces, {
  tag,
  role: "reader",
  summary: "List workspaces",
  query: z.strictObject(paging),
  answer: async (on, { query }) => pageOf(await on.workspaces(), query, ({ id }) => id),
});

const create = storeRoute(calls.createWorkspace, {
  tag,
  role: "operator",
  summary: "Create a workspace without a folder, either empty or with the files that another workspace had at a moment",
  description: "A fork shares contents with the workspace that it was forked from.",
  body: z.strictObject({
    name: word(
      "a name that is unique in the store, such as a session's id. Allowed characters: `A-Z a-z 0-9 . _ : @ -`",
    ).optional(),
    from: z
      .strictObject({
        workspace: word("the id or the exact name of the workspace to fork"),
        moment: moment("the moment to begin with").optional(),
      })
      .optional(),
  }),
  answer: async (on, { body: { name, from } }) => {
    const origin = from === undefined ? undefined : { ...from, workspace: await wholeId(on, from.workspace) };
    const { workspace, result } = await on.create(withoutUndefined({ name, from: origin }));
    await workspace.close();
    return result;
  },
});

/** Returns the id of the workspace with this whole id or exact name. Throws `NOT_FOUND` for a prefix of an id. */
async function wholeId(on: StoreApi, asked: string): Promise<string> {
  const found = (await on.workspaces()).find(({ id, name }) => id === asked || name === asked);
  if (found === undefined) throw notThere(asked);
  return found.id;
}

const get = storeRoute(calls.getWorkspace, {
  tag,
  role: "reader",
  summary: "One workspace",
  answer: async (on, { params: { id = "" } }) => {
    const found = (await on.workspaces()).find((one) => one.id === id);
    if (found === undefined) throw notThere(id);
    return found;
  },
});

const archive = storeRoute(calls.archiveWorkspace, {
  tag,
  role: "operator",
  summary: "Archive a workspace, or unarchive it",
  description: "An archived workspace can only be read.",
  body: z.strictObject({ archived: bool("true: archive (default); false: unarchive").optional() }),
  answer: (on, { params: { id = "" }, body }) => on.archive(id, body.archived),
});

const forget = storeRoute(calls.forgetWorkspace, {
  tag,
  role: "operator",
  summary: "Remove a workspace's history from the store",
  description:
    "The workspace's files on disk stay. For 24 hours, `chronicle unforget` (on the server's machine) brings the history back. " +
    "After that, the next `gc` frees the history.",
  answer: (on, { params: { id = "" } }) => on.forget(id),
});

const listMarks = storeRoute(calls.listMarks, {
  tag: "marks",
  role: "reader",
  summary: "The changes that the caller has marked as looked at",
  description:
    "Each token has marks of its own. The page of the store's owner and the Unix socket share the owner's marks. Marks are kept beside " +
    "the history, and are no part of it.",
  answer: (on, { params: { id = "" } }) => on.marks(id),
});

const hash = (what: string) =>
  z
    .string()
    .regex(/^(?:[0-9a-f]{64})?$/, "must be a hash, or empty")
    .describe(what);

const marks = (what: string) =>
  z
    .array(
      z.strictObject({
        path: path("the changed path"),
        before_hash: hash("the hash of the content before the change; empty if there was none"),
        after_hash: hash("the hash of the content after the change; empty if there is none"),
        after_permissions: number("the permission bits after the change, if it changed them", 0o7777).optional(),
      }),
    )
    .max(5_000)
    .describe(what)
    .optional();

const changeMarks = storeRoute(calls.changeMarks, {
  tag: "marks",
  role: "reader",
  summary: "Mark changes as looked at, or remove such marks",
  description:
    "A mark belongs to the contents before and after the change: if the path changes again, the new change is not marked. For each caller and workspace, " +
    "at most 5,000 marks (1 MiB) are kept. Beyond this limit, the oldest marks are removed.",
  body: z.strictObject({ add: marks("the changes to mark"), remove: marks("the changes whose marks are removed") }),
  answer: (on, { params: { id = "" }, body }) => on.mark(id, body),
});

const collect = storeRoute(calls.collectStore, {
  tag: "upkeep",
  role: "operator",
  summary: "Free contents that no workspace of the store needs",
  answer: (on, { me: caller }) => {
    needsWholeStore(caller);
    return on.gc();
  },
});

const usage = storeRoute(calls.storeUsage, {
  tag: "upkeep",
  role: "operator",
  summary: "How much space the store takes",
  answer: (on, { me: caller }) => {
    needsWholeStore(caller);
    return on.du();
  },
});

const doctor = storeRoute(calls.doctor, {
  tag: "upkeep",
  role: "operator",
  summary: "Look at the machine, the store and the signing key, and say what is wrong",
  answer: (on, { me: caller }) => {
    needsWholeStore(caller);
    return on.doctor();
  },
});

export const STORE_ROWS: readonly StoreRoute[] = [
  me,
  list,
  create,
  get,
  archive,
  forget,
  listMarks,
  changeMarks,
  collect,
  usage,
  doctor,
];
