import * as z from "zod";
import { canonicalJson, type RecordBody } from "../../../core/values/canonical-json.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { RecordEventShape } from "../../record-api.ts";
import * as calls from "../calls/record-calls.ts";
import { collectedBytes } from "../pieces.ts";
import { workspaceRoute, type WorkspaceRoute, withoutUndefined } from "../row.ts";
import { count, flag, jsonObject, paging } from "../fields.ts";
import { numberOf, PAGE, pageOf, pageWithMore } from "../pages.ts";

const tag = "records";
const id = z.string().min(1).max(1_024).describe("the record's id: any text of 1 to 1,024 bytes");
const recursion_depth = count("the depth of the agent in nested agents: 0 for the top agent", {
  most: 1_000_000,
}).optional();

const depthOf = (depth: number | undefined) => withoutUndefined({ recursionDepth: depth });

const list = workspaceRoute(calls.listRecords, {
  tag,
  role: "reader",
  summary: "List records, in the order of their ids",
  query: z.strictObject(paging),
  answer: async (on, { query }) => {
    const page = pageOf(await on.records.all(), query, ([one]) => one);
    return { items: page.items.map(([one, record]) => ({ id: one, record })), next: page.next };
  },
});

const get = workspaceRoute(calls.getRecord, {
  tag,
  role: "reader",
  summary: "One record; the answer is `null` if the record does not exist",
  query: z.strictObject({ id }),
  answer: async (on, { query }) => {
    const record = await on.records.get(query.id);
    return record === undefined ? null : { id: query.id, record };
  },
});

const put = workspaceRoute(calls.putRecord, {
  tag,
  role: "agent",
  summary: "Write a record",
  query: z.strictObject({ id, recursion_depth }),
  body: jsonObject("the record"),
  answer: (on, { query, body }) =>
    on.records.upsert(query.id, body as RecordBody, depthOf(query.recursion_depth)) as Promise<Sent>,
});

type Sent = Omit<RecordEventShape, "record"> & { record: Record<string, unknown> };

const remove = workspaceRoute(calls.deleteRecord, {
  tag,
  role: "agent",
  summary: "Delete a record; the answer is `null` if the record does not exist",
  query: z.strictObject({ id, recursion_depth }),
  answer: async (on, { query }) => (await on.records.delete(query.id, depthOf(query.recursion_depth))) ?? null,
});

const events = workspaceRoute(calls.recordEvents, {
  tag,
  role: "reader",
  summary: "The events of records, oldest first",
  query: z.strictObject({ from: count("the first seq").optional(), ...paging }),
  answer: async (on, { query: { from = 0, limit = PAGE, cursor } }) => {
    const first = cursor === undefined ? from : numberOf(cursor) + 1;
    const found: RecordEventShape[] = [];
    for await (const event of on.records.replay(first)) if (found.push(event) > limit) break;
    return pageWithMore(found, limit, ({ seq }) => String(seq));
  },
});

const verify = workspaceRoute(calls.verifyRecords, {
  tag,
  role: "reader",
  heavy: "history",
  summary: "Recompute the chain of the log",
  answer: (on) => on.records.verify(),
});

const migrate = workspaceRoute(calls.migrateRecords, {
  tag,
  role: "operator",
  summary: "Rewrite every record, all in one commit",
  description:
    "Send each record together with its content as you read it. If any stored record has changed since you read it, or is missing " +
    "from your list, nothing is written (412). A record that was deleted since then stays deleted.",
  body: z.strictObject({
    records: z
      .array(
        z.strictObject({ id, before: jsonObject("the record as it was read"), record: jsonObject("the new record") }),
      )
      .max(100_000),
  }),
  answer: async (on, { body }) => {
    const rewrites = new Map(body.records.map((one) => [one.id, one]));
    const records = await on.records.migrate((record, one) => {
      const rewrite = rewrites.get(one);
      if (rewrite === undefined || canonicalJson(record) !== canonicalJson(rewrite.before as RecordBody))
        throw changed(one);
      return rewrite.record as RecordBody;
    });
    return { records };
  },
});

function changed(one: string): ChronicleError {
  return new ChronicleError("PRECONDITION_FAILED", `the record ${JSON.stringify(one)} is not as it was read`, {
    hint: "read the records again, and try again",
    data: { record: one },
  });
}

const MAX_IMPORT = 64 * 1024 * 1024;

const bring = workspaceRoute(calls.importRecords, {
  tag,
  role: "agent",
  summary: "Import the records of a chronomemory log",
  description: "The body is the log's `events.wal`. Every line is verified before anything is imported.",
  query: z.strictObject({
    round_numbers: flag("round numbers that a double cannot hold exactly, instead of refusing the file").optional(),
    up_to_tear: flag(
      "import the lines before the first one that fails verification, instead of refusing the file",
    ).optional(),
    checkpoint_bytes: count(
      "only for a compacted log: the length, in bytes, of its `snapshot.json`. The body then begins with this file, and the log follows. The records in `snapshot.json` cannot be verified",
      { most: MAX_IMPORT },
    ).optional(),
  }),
  bytes: { most: MAX_IMPORT },
  answer: async (on, { query: { round_numbers, up_to_tear, checkpoint_bytes: length }, content }) => {
    const bytes = await collectedBytes(content, MAX_IMPORT);
    if (length !== undefined && length > bytes.length)
      throw new ChronicleError("USAGE", `checkpoint_bytes is ${length}, but the body has only ${bytes.length} bytes`);
    const checkpoint = length === undefined ? undefined : bytes.subarray(0, length);
    return on.records.importChronomemory(
      bytes.subarray(length ?? 0),
      withoutUndefined({ roundNumbers: round_numbers, upToTear: up_to_tear, checkpoint }),
    );
  },
});

export const RECORD_ROWS: readonly WorkspaceRoute[] = [list, get, put, remove, events, verify, migrate, bring];
