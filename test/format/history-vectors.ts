import type { BaseEntry, BaseRecord } from "../../src/core/log/base.ts";
import type { EventDraft, RecordBody } from "../../src/core/values/event.ts";
import { type Hash, sha256 } from "../../src/core/values/hash.ts";
import { cases, workspaceRecord } from "./history-cases.ts";
import {
  type Changed,
  type Commit,
  contentOf,
  FURTHER,
  HistoryBuilder,
  inRoot,
  iteration,
  KEY,
  TS,
  upsert,
  withFields,
  WORKSPACE,
} from "./history-builder.ts";

/**
 * The content of `vectors/history.json`. For each rule about a whole history, it has one history that follows the rule
 * and one that breaks only this rule. `node test/format/make-history.ts` writes the file again.
 */
export interface HistoryVectors {
  readonly about: string;
  readonly workspace: string;
  readonly roots: readonly string[];
  /** The contents in Base64, by their SHA-256. */
  readonly contents: Readonly<Record<string, string>>;
  /** The first lines of most histories (see `after`). */
  readonly lines: readonly string[];
  /** The first lines of a history as the first versions of this format wrote them: without a signer. */
  readonly earlier: readonly string[];
  readonly cases: readonly VectorCase[];
}

export interface VectorCase {
  readonly rule: string;
  readonly kind: string;
  /** How many lines of `lines` come before those of the case. 0: the case has a beginning of its own. */
  readonly after: number;
  readonly good: readonly string[];
  readonly bad: readonly string[];
}

const FILTER = { use_gitignore: false, exclude_patterns: [], exclude_globs: [], force_include: [], rules: [] };

const FILES: readonly EventDraft[] = [
  iteration(inRoot("a.txt"), "file", 1),
  iteration(inRoot("d"), "dir", 1),
  iteration(inRoot("d/x.txt"), "file", 1),
  iteration(inRoot("y.txt", FURTHER), "file", 1),
];

/**
 * What a case changes in the first commit: the rows of its base, the records of the signer and the snapshot, and the
 * order of its drafts.
 */
interface Beginning {
  readonly row?: (one: BaseEntry) => BaseEntry;
  readonly signer?: Changed;
  readonly snapshot?: Changed;
  readonly order?: (drafts: readonly EventDraft[]) => readonly EventDraft[];
}

/** Adds the first commit of a history. */
function begin(h: HistoryBuilder, { row, signer, snapshot, order = (all) => all }: Beginning = {}): void {
  h.content(contentOf("one"));
  const filter = h.json([FILTER, FILTER]);
  h.place(FILES);
  const { base, root } = h.base(row === undefined ? {} : { row });
  const record = {
    ...{ number: 0, cause: "baseline", root, parent: null, pinned: true, actor: "a", changed: null, base, filter },
    ...{ coverage: { complete: true, count: 0, omitted: [] }, entries: 4, bytes: 12 },
  };
  const names = { key: KEY, since: 2, why: "begun", actor: "a" };
  const drafts = [
    upsert(`workspace:${WORKSPACE}`, workspaceRecord()),
    upsert(`signer:${WORKSPACE}`, withFields(names, signer)),
    upsert("snapshot:1", withFields(record, snapshot)),
  ];
  h.commit({ drafts: order(drafts), root: true });
}

const CHANGE: Commit = { drafts: [iteration(inRoot("a.txt"), "file", 2)] };

/** Returns the lines of a history that has only a first commit, and adds its contents to `contents`. */
function begun(contents: Map<Hash, Buffer>, how: Beginning): readonly string[] {
  const h = new HistoryBuilder();
  begin(h, how);
  for (const [hash, bytes] of h.contents) contents.set(hash, bytes);
  return h.lines;
}

const EXTRA = upsert("user:1", {});

const BEGINNINGS: Readonly<Record<string, readonly [kind: string, Beginning]>> = {
  "the first commit names the signer": ["rule-broken", { order: ([w, , s]) => [w, EXTRA, s] as EventDraft[] }],
  "the first commit holds three events": [
    "rule-broken",
    { order: ([w, k, s]) => [w, k, s, upsert("pin:1", { pinned: true, actor: "a" })] as EventDraft[] },
  ],
  "the first snapshot has the number 0": ["rule-broken", { snapshot: { number: 1 } }],
  "a baseline's rows are first iterations": ["base-wrong", { row: (one) => ({ ...one, iteration: 2 }) }],
  "a baseline's rows are of event 3": ["base-wrong", { row: (one) => ({ ...one, seq: 2 }) }],
  "the log begins with its workspace": [
    "record-damaged",
    { order: ([, k, s]) => [upsert("store:1", {}), k, s] as EventDraft[] },
  ],
};

/** What a case changes in a compaction: the rows and records of its base, and the fields of its sentinel. */
interface Compacted {
  readonly row?: (one: BaseEntry) => BaseEntry;
  readonly records?: (all: readonly BaseRecord[]) => readonly BaseRecord[];
  readonly sentinel?: Changed;
}

/** Returns the lines of a history that begins with a compaction whose archive was dropped. */
function compacted(
  h: HistoryBuilder,
  { row = AS_CHANGED, records = (all) => all, sentinel }: Compacted,
): readonly string[] {
  const behind = h.copy();
  const held = (recordId: string, seq: number, record: RecordBody): BaseRecord => {
    return { recordId, seq, ts: TS, op: "upsert", record };
  };
  const all = [
    held(`workspace:${WORKSPACE}`, 1, workspaceRecord()),
    held(`signer:${WORKSPACE}`, 2, { key: KEY, since: 2, why: "begun", actor: "a" }),
  ];
  const { base, root } = behind.base({ records: records(all), row });
  const { seq, hash } = h.head;
  const record = {
    ...{ base, drops_archive: true, frontier: h.frontier, head: hash, range: [1, seq], root, size: seq },
    workspace: workspaceRecord(),
  } as RecordBody;
  behind.startBehind(h);
  behind.commit({
    drafts: [{ op: "compact", recordId: `compact:${WORKSPACE}`, record: withFields(record, sentinel) }],
    root: true,
  });
  behind.commit({ drafts: [iteration(inRoot("a.txt"), "file", 3)] });
  for (const [one, bytes] of behind.contents) h.contents.set(one, bytes);
  return behind.lines;
}

const user = (seq: number): BaseRecord => ({ recordId: "user:1", seq, ts: TS, op: "upsert", record: {} });
const ofA =
  (changed: Partial<BaseEntry>) =>
  (one: BaseEntry): BaseEntry =>
    one.path === inRoot("a.txt") ? { ...one, ...changed } : one;

/** The row of `a.txt` after `CHANGE`, which is event 4. */
const AS_CHANGED = ofA({ iteration: 2, seq: 4 });

const COMPACTIONS: Readonly<Record<string, readonly [kind: string, Compacted]>> = {
  "a sentinel's head is the hash before it": ["sentinel-wrong", { sentinel: { head: sha256("x") } }],
  "a sentinel's size is the seq before it": ["sentinel-wrong", { sentinel: { size: 3 } }],
  "a sentinel's range ends before it": ["sentinel-wrong", { sentinel: { range: [1, 3] } }],
  "a sentinel's frontier stands for its size": ["sentinel-wrong", { sentinel: { frontier: [] } }],
  "a sentinel's root is that of its base": ["root-wrong", { sentinel: { root: sha256("x") } }],
  "a sentinel's workspace is the workspace's record": [
    "rule-broken",
    { sentinel: { workspace: workspaceRecord({ created: "2026-01-31T09:30:00.001Z" }) } },
  ],
  "a sentinel that has no archive drops it": ["archive-missing", { sentinel: { drops_archive: false } }],
  "an entry of a base is of an event before it": ["base-wrong", { row: ofA({ iteration: 2, seq: 5 }) }],
  "a record of a base is of an event before it": ["base-wrong", { records: (all) => [...all, user(5)] }],
  "a record of a base is what its id says": [
    "base-wrong",
    { records: (all) => [...all, { ...user(4), recordId: "session:1" }] },
  ],
  "the iterations go on from those of a base": ["rule-broken", { row: ofA({ iteration: 3, seq: 4 }) }],
};

/** Computes all vectors. */
export function historyVectors(): HistoryVectors {
  const h = new HistoryBuilder();
  begin(h);
  const { lines: first } = h;
  h.commit(CHANGE);
  const lines = [...first];
  const all: VectorCase[] = [];
  for (const { rule, kind, good, bad } of cases(h, h.json([FILTER, FILTER])))
    all.push({ rule, kind, after: lines.length, good: linesOf(h, good), bad: linesOf(h, bad) });
  for (const [rule, [kind, how]] of Object.entries(BEGINNINGS))
    all.push({ rule, kind, after: 0, good: lines.slice(0, 3), bad: begun(h.contents, how) });
  const sound = compacted(h, {});
  for (const [rule, [kind, how]] of Object.entries(COMPACTIONS))
    all.push({ rule, kind, after: 0, good: sound, bad: compacted(h, how) });
  const earlier = begun(h.contents, {
    row: (one) => ({ ...one, seq: 2 }),
    order: ([w, , s]) => [w, s] as EventDraft[],
  });
  const contents = Object.fromEntries([...h.contents].map(([hash, bytes]) => [hash, bytes.toString("base64")]));
  const about =
    "docs/format.md: rules that hold for a whole history. Each case is `lines` up to `after`, then `good` or `bad`; the latter breaks that rule alone.";
  return { about, workspace: WORKSPACE, roots: [FURTHER], contents, lines, earlier, cases: all };
}

function linesOf(h: HistoryBuilder, commits: readonly Commit[]): readonly string[] {
  const behind = h.copy();
  for (const commit of commits) behind.commit(commit);
  return behind.lines;
}
