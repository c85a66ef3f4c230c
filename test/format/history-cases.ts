import type { EventDraft, Json, RecordBody } from "../../src/core/values/event.ts";
import { type Hash, sha256 } from "../../src/core/values/hash.ts";
import type { WorkspacePath } from "../../src/core/values/path.ts";
import {
  type Changed,
  type Commit,
  contentOf,
  FURTHER,
  type HistoryBuilder,
  inRoot,
  iteration,
  KEY,
  TS,
  upsert,
  withFields,
  WORKSPACE,
} from "./history-builder.ts";

/**
 * A rule of `docs/format.md`, with a history that follows it (`good`), and the same history with only that rule broken
 * (`bad`).
 */
export interface Case {
  readonly rule: string;
  /** The kind of the problem that `verify` reports for `bad`. */
  readonly kind: string;
  readonly good: readonly Commit[];
  readonly bad: readonly Commit[];
}

const HASH = sha256("x");
const A = inRoot("a.txt");
const D = inRoot("d");
const X = inRoot("d/x.txt");
const N = inRoot("n");

const one = (...drafts: EventDraft[]): Commit[] => [{ drafts }];
const rooted = (...drafts: EventDraft[]): Commit[] => [{ drafts, root: true }];

/** Makes one case for each rule of `wrong`. The bad history differs in fields of one record. */
function fields(
  make: (changed?: Changed) => readonly Commit[],
  wrong: Readonly<Record<string, Changed>>,
  kind = "record-damaged",
): Case[] {
  return Object.entries(wrong).map(([rule, changed]) => ({ rule, kind, good: make(), bad: make(changed) }));
}

/** Makes one case for each rule, from the commits of the good and of the bad history. */
function pairs(kind: string, all: Readonly<Record<string, readonly [good: Commit[], bad: Commit[]]>>): Case[] {
  return Object.entries(all).map(([rule, [good, bad]]) => ({ rule, kind, good, bad }));
}

function treeCases(): Case[] {
  const gone = (path: WorkspacePath, n = 2): EventDraft => iteration(path, "absent", n);
  return [
    ...pairs("rule-broken", {
      "what a folder held is gone with it": [one(gone(X), gone(D)), one(gone(D))],
      "a folder is not gone before what it holds, at the end of a commit": [
        [...one(gone(X)), ...one(gone(D))],
        [...one(gone(D)), ...one(gone(X))],
      ],
      "what is there lies in a folder that is there": [
        one(iteration(N, "dir", 1), iteration(inRoot("n/f"), "file", 1)),
        one(iteration(inRoot("n/f"), "file", 1)),
      ],
      "what is there does not lie in a file": [
        one(iteration(inRoot("d/f"), "file", 1)),
        one(iteration(inRoot("a.txt/f"), "file", 1)),
      ],
      "a file has nothing beneath it": [one(gone(X), iteration(D, "file", 2)), one(iteration(D, "file", 2))],
      "a path's iterations are numbered without a gap": [one(iteration(A, "file", 3)), one(iteration(A, "file", 4))],
      "a path's iterations are numbered without a repetition": [
        one(iteration(A, "file", 3)),
        one(iteration(A, "file", 2)),
      ],
      "a path's first iteration is 1": [one(iteration(N, "file", 1)), one(iteration(N, "file", 2))],
      "the numbers go on where a path comes back": [
        [...one(gone(X)), ...one(iteration(X, "file", 3))],
        [...one(gone(X)), ...one(iteration(X, "file", 1))],
      ],
      "a path lies in a root of the workspace": [
        one(iteration(inRoot("n", FURTHER), "file", 1)),
        one(iteration(inRoot("n", "other"), "file", 1)),
      ],
    }),
  ];
}

function fileCases(): Case[] {
  const file = (changed?: Changed): Commit[] => one(iteration(N, "file", 1, changed));
  const named = (recordId: string): Commit[] => one({ ...iteration(N, "file", 1), recordId });
  const odd = named(`file64:${Buffer.from([0x6e, 0xff]).toString("base64")}`);
  return [
    ...fields(file, {
      "a cause is one of the list": { cause: "whim" },
      "a kind is one of the list": { kind: "socket" },
      "a mode is of permission bits": { mode: 0o10000 },
      "a size is not below zero": { size: -1 },
      "a file has a hash": { hash: undefined },
      "an iteration is at least 1": { iteration: 0 },
      "a class is protected or not there": { class: "private" },
      "an erasure leaves nothing there": { cause: "erase" },
      "an actor is text": { actor: 1 },
    }),
    ...fields((changed) => one(iteration(A, "absent", 3, changed)), {
      "what is absent has no hash": { hash: HASH },
      "what is absent has no mode": { mode: 0o644 },
      "what is absent has no size": { size: 0 },
      "what is absent has no time": { mtime_ms: 0 },
      "what is absent has no class": { class: "protected" },
    }),
    ...fields((changed) => one(iteration(N, "dir", 1, changed)), {
      "a folder has no hash": { hash: HASH },
      "a folder has no class": { class: "protected" },
    }),
    ...fields((changed) => one(iteration(N, "symlink", 1, changed)), { "a link's mode is 0777": { mode: 0o755 } }),
    ...pairs("record-damaged", {
      "Base64 in an id is of a path that is not UTF-8": [odd, named(`file64:${Buffer.from("n").toString("base64")}`)],
      "Base64 in an id is canonical": [odd, named("file64:bv8")],
      "a path has no component ..": [named("file:n"), named("file:d/../n")],
      "a path has no empty component": [named("file:n"), named("file:d//n")],
      "a path is not absolute": [named("file:n"), named("file:/n")],
      "a file's record names a path": [named("file:n"), named("file:")],
      "a root id is one": [named(`file@${FURTHER}:n`), named("file@-:n")],
    }),
  ];
}

const ACTION: RecordBody = {
  ...{ state: "open", type: "write_file", summary: "s", scope: "paths", paths: [], files: [], outside: [] },
  ...{ actor: "a", previous: "", pid: null, from_seq: 4, pinned: false, omitted: [], started: TS, ended: null },
  changed: null,
};

/**
 * Returns a function that makes two commits, which begin an action and close it. Its parameters are fields that a case
 * changes in the first record, in the second one, and in `begun` of the second one.
 */
function actions(h: HistoryBuilder): (begin?: Changed, end?: Changed, begun?: Changed) => Commit[] {
  return (begin, end, begunFields) => {
    const first = one(upsert("action:1", withFields(ACTION, begin)));
    const [sealed] = h.copy().commit(first[0] as Commit);
    const begun = withFields({ seq: 5, hash: sealed?.hash ?? "", ts: TS, depth: 0 }, begunFields);
    const closed = { ...ACTION, state: "done", begun, ended: TS, to_seq: 5, changed: 0 };
    return [...first, ...one(upsert("action:1", withFields(closed, end)))];
  };
}

function actionCases(h: HistoryBuilder): Case[] {
  const action = actions(h);
  const begins = fields((changed) => action(changed).slice(0, 1), {
    "an action's state is one of the list": { state: "going" },
    "an action's scope is one of the list": { scope: "planet" },
    "an action's previous is a hash": { previous: "none" },
  });
  const rules = fields(
    (changed) => action(changed).slice(0, 1),
    {
      "an action begins open": { state: "done" },
      "an action names the one begun before it": { previous: HASH },
      "an action's from_seq is the event before it": { from_seq: 3 },
    },
    "rule-broken",
  );
  const ends = fields(
    (changed) => action({}, {}, changed),
    {
      "a closed action names the seq of its first event": { seq: 4 },
      "a closed action names the hash of its first event": { hash: HASH },
      "a closed action names the time of its first event": { ts: "2026-01-31T09:30:00.001Z" },
      "a closed action names the depth of its first event": { depth: 1 },
    },
    "rule-broken",
  );
  const closing = fields(
    (changed) => action({}, changed),
    { "a closed action names its first event": { begun: undefined } },
    "rule-broken",
  );
  const omitted = [{ path: "p", type: "created", reason: "excluded", kept: false, lost: false }];
  const change = (type: string): Json => omitted.map((each) => ({ ...each, type }));
  return [
    ...begins,
    ...rules,
    ...ends,
    ...closing,
    ...pairs("record-damaged", {
      "a change of an omitted path is of a type of the list": [
        action({}, { omitted_changes: change("created") }),
        action({}, { omitted_changes: change("seen") }),
      ],
    }),
    ...pairs("rule-broken", {
      "an action that is closed was begun": [action(), action().slice(1)],
    }),
  ];
}

function outsideCases(): Case[] {
  const state = { kind: "file", mode: 0o644, size: 4, mtime_ms: 0, hash: sha256(contentOf("one")) };
  const record = { state, hash: state.hash, iteration: 1, phase: "before", action: "1", actor: "a", deep: false };
  const outside = (changed?: Changed, id = "outside:/etc/x"): Commit[] => one(upsert(id, withFields(record, changed)));
  const odd = outside({}, `outside64:${Buffer.from([0x2f, 0xff]).toString("base64")}`);
  return [
    ...fields(outside, {
      "a path outside has its state's hash beside it": { hash: HASH },
      "a path outside was before or after": { phase: "during" },
    }),
    ...fields(outside, { "the iterations of a path outside begin with 1": { iteration: 2 } }, "rule-broken"),
    ...pairs("record-damaged", {
      "Base64 in an id outside is of a path that is not UTF-8": [
        odd,
        outside({}, `outside64:${Buffer.from("/x").toString("base64")}`),
      ],
      "a path outside is absolute": [outside(), outside({}, "outside:etc/x")],
    }),
  ];
}

function snapshotCases(h: HistoryBuilder, filter: Hash): Case[] {
  const coverage = { complete: true, count: 0, omitted: [] };
  const record = {
    ...{ number: 1, cause: "asked", root: h.root(), parent: 0, pinned: false, actor: "a", changed: 1, coverage },
    ...{ filter, entries: 4, bytes: 16 },
  };
  const snapshot = (changed?: Changed): Commit[] => rooted(upsert("snapshot:2", withFields(record, changed)));
  const lists = { path: "p", reason: "unreadable" };
  const { base } = h.base();
  const covers = { filter, from_seq: 4, count: 1, omitted: [lists] };
  const coverageOf = (changed?: Changed): Commit[] => one(upsert(`coverage:${WORKSPACE}`, withFields(covers, changed)));
  const single = h.json([
    { use_gitignore: false, exclude_patterns: [], exclude_globs: [], force_include: [], rules: [] },
  ]);
  return [
    ...fields(snapshot, {
      "a snapshot has a number": { number: "1" },
      "a snapshot's coverage counts at least what it lists": { coverage: { ...coverage, count: 0, omitted: [lists] } },
    }),
    ...fields(snapshot, { "only snapshot 0 names a base": { base } }, "rule-broken"),
    ...fields(snapshot, { "a snapshot's root is that of the files": { root: HASH } }, "root-wrong"),
    ...fields(snapshot, { "a filter is one object for each root": { filter: single } }, "filter-wrong"),
    ...fields(coverageOf, {
      "a coverage counts at least what it lists": { count: 0 },
      "a coverage names a filter": { filter: "none" },
    }),
    ...pairs("rule-broken", {
      "a commit that holds a snapshot states the root": [snapshot(), one(upsert("snapshot:2", record))],
    }),
  ];
}

const INTENT: RecordBody = {
  ...{ kind: "restore", state: "open", summary: "s", actor: "a", started: TS, paths: 1, from_seq: 4 },
};

function intentCases(h: HistoryBuilder): Case[] {
  const state = { kind: "file", mode: 0o644, size: 4, mtime_ms: 0, hash: sha256(contentOf("one")) };
  const items = ["a.txt", "b.txt"].map((path) => ({ path, before: null, after: state }));
  const [plan, upside, none] = [h.json(items), h.json(items.toReversed()), h.json({})];
  const intent = (changed?: Changed): Commit[] => one(upsert("intent:1", withFields({ ...INTENT, plan }, changed)));
  const done = { ...INTENT, state: "done", skipped: 0 };
  return [
    ...fields(intent, {
      "an intent's kind is one of the list": { kind: "hope" },
      "an intent's state is one of the list": { state: "going" },
      "what an undo took are ranges in order": { took: [[4, 3]] },
    }),
    ...fields(
      intent,
      { "a plan's paths are in order": { plan: upside }, "a plan is a list": { plan: none } },
      "plan-wrong",
    ),
    ...pairs("record-damaged", {
      "what an undo took in part are events of a path": [
        intent({ parts: [{ path: "a.txt", took: [[3, 4]] }] }),
        intent({ parts: [{ path: "a.txt", took: [[4, 3]] }] }),
      ],
    }),
    ...pairs("rule-broken", {
      "a commit that ends an operation states the root": [
        [...intent(), ...rooted(upsert("intent:1", done))],
        [...intent(), ...one(upsert("intent:1", done))],
      ],
    }),
  ];
}

function conflictCases(): Case[] {
  const record = {
    ...{ path: "a.txt", state: "settled", settled: "merged", reason: "content", undo: "1", met: TS },
    ...{ base: null, current: null, wanted: null },
  };
  const conflict = (changed?: Changed): Commit[] => one(upsert("conflict:1", withFields(record, changed)));
  const sync = { cause: "sync", origin: "o", base_seq: 0, upstream_seq: 0, undo: undefined, reason: "blocked" };
  return [
    ...fields(conflict, {
      "a conflict's state is one of the list": { state: "half" },
      "a conflict is settled by one of the list": { settled: "luck" },
      "a conflict's reason is one of the list": { reason: "mood" },
      "a path in Base64 is not UTF-8": { path: undefined, path_b64: Buffer.from("a.txt").toString("base64") },
    }),
    ...pairs("record-damaged", {
      "only a conflict with an origin is blocked": [conflict(sync), conflict({ reason: "blocked" })],
    }),
  ];
}

function workCases(): Case[] {
  const session = {
    ...{ kind: "run", state: "running", command: ["x"], started: TS, ended: null, exit_code: null, signal: null },
    ...{ paths: [], from_seq: 4, merkle_roots: [HASH], snapshots: 0, changed: 0, network_events: [], notes: [] },
    ...{ actor: "a", pid: 1 },
  };
  const run = (changed?: Changed): Commit[] => one(upsert("session:1", withFields(session, changed)));
  const ended = { ...session, state: "ended", ended: TS };
  const transaction = {
    ...{ status: "active", started_at: TS, finished_at: null, from_seq: 4, scope: "actions", actor: "a", pid: null },
    on_owner_death: "keep",
  };
  return [
    ...fields(run, {
      "a session's kind is one of the list": { kind: "walk" },
      "a session's state is one of the list": { state: "paused" },
      "a session's Merkle roots are hashes": { merkle_roots: ["x"] },
      "a session's network events are JSON texts": { network_events: ["{"] },
    }),
    ...fields((changed) => one(upsert("transaction:1", withFields(transaction, changed))), {
      "a transaction's status is one of the list": { status: "lost" },
      "a transaction's scope is one of the list": { scope: "all" },
      "what becomes of a transaction is one of the list": { on_owner_death: "mourn" },
    }),
    ...pairs("rule-broken", {
      "a commit that ends a session states the root": [
        rooted(upsert("session:1", ended)),
        one(upsert("session:1", ended)),
      ],
    }),
  ];
}

function signerCases(h: HistoryBuilder): Case[] {
  const { seq, hash } = h.head;
  const accepted = { log: { seq, hash }, head: null, kept_as: null, reason: "r" };
  const record = { key: KEY, since: 5, why: "accepted", actor: "a", accepted };
  const signer = (changed?: Changed): Commit[] => one(upsert(`signer:${WORKSPACE}`, withFields(record, changed)));
  return fields(signer, {
    "a signer signs since its own event": { since: 4 },
    "a signer's key is a verifier key": { key: "chronicle+00000000+AA==" },
    "only the first signer has begun": { why: "begun" },
    "a signer's why is one of the list": { why: "bought" },
    "a person accepts the event before": { accepted: { ...accepted, log: { seq, hash: HASH } } },
  });
}

function givenUpCases(): Case[] {
  const erased = { path: "p" };
  const erase = {
    ...{ state: "erased", contents: [sha256("1"), sha256("2")].sort(), asked: erased, reason: null, actor: "a" },
    ...{ at: TS, until: TS },
  };
  const prune = (floor: number, changed?: Changed): EventDraft =>
    upsert(
      `prune:${WORKSPACE}`,
      withFields(
        {
          floor_seq: floor,
          kept: [],
          kept_actions: [],
          actions: 0,
          snapshots: 0,
          cause: "limits",
          pending_bytes: 0,
          actor: "a",
        },
        changed,
      ),
    );
  const replica = upsert("replica:o", { ...REPLICA, settled: 3 });
  const unnamed = upsert("replica:", { ...REPLICA, origin: "" });
  return [
    ...fields((changed) => one(upsert("erase:1", withFields(erase, changed))), {
      "an erasure's state is one of the list": { state: "gone" },
      "an erasure's contents ascend": { contents: erase.contents.toReversed() },
      "an erasure's contents are there once": { contents: [HASH, HASH] },
      "one thing was asked to be erased": { asked: { path: "p", match: "q" } },
      "an erasure's until is a time": { until: "soon" },
      "what an erasure has left untracked are ranges that ascend": {
        untracked: [
          [3, 4],
          [2, 2],
        ],
      },
    }),
    ...fields((changed) => one(prune(4, changed)), {
      "a pruning's cause is one of the list": { cause: "mood" },
      "the kept states of a pruning ascend": { kept: [2, 1] },
      "the kept states of a pruning are below its floor": { kept: [4] },
    }),
    ...pairs("rule-broken", {
      "a pruning's floor is an event before it": [one(prune(4)), one(prune(5))],
      "a pruning's floor does not fall": [
        [...one(prune(3)), ...one(prune(4))],
        [...one(prune(4)), ...one(prune(3))],
      ],
      "no state becomes kept again": [
        [...one(prune(4, { kept: [3] })), ...one(prune(4, { kept: [3] }))],
        [...one(prune(4)), ...one(prune(4, { kept: [3] }))],
      ],
      "what is brought back was kept before": [
        [...one(prune(4)), ...one(prune(0, { cause: "brought-back" }))],
        [...one(prune(4)), ...one(prune(2, { cause: "brought-back" }))],
      ],
      "what is brought back gives nothing up": [
        [...one(prune(3)), ...one(prune(4)), ...one(prune(3, { cause: "brought-back" }))],
        [...one(prune(3)), ...one(prune(0, { cause: "brought-back" })), ...one(prune(3, { cause: "brought-back" }))],
      ],
      "the floor does not pass what an origin has answered": [
        [...one(replica), ...one(prune(3))],
        [...one(replica), ...one(prune(4))],
      ],
      "the last record of a sync says what its origin has answered": [
        [...one(unnamed), ...one(replica), ...one(prune(3))],
        [...one(unnamed), ...one(replica), ...one(prune(5))],
      ],
    }),
  ];
}

const REPLICA: RecordBody = {
  ...{ origin: "o", sandbox_id: "s", url: "u", mode: "two-way-safe", filter_to: [], filter_from: [] },
  ...{ applied: 0, settled: 0 },
};

function replicaCases(): Case[] {
  const proposal = (id: string, n: number): Commit[] => one(upsert(`proposal:${id}`, { iteration: n }));
  const version = { path: "a.txt", replica: "r", local_seq: 7, state: null, seen: 0, against: 0, actor: "a" };
  const answer = { settled: 1, accepted: [[1, 1, 1]], rejected: [] };
  return [
    ...fields((changed) => one(upsert("replica:o", withFields(REPLICA, changed))), {
      "a replica's record is about the origin of its id": { origin: "p" },
      "a replica's mode is one of the list": { mode: "both-ways" },
    }),
    ...pairs("record-damaged", {
      "a proposal is about a path": [proposal("file:a.txt", 2), proposal("user:a.txt", 2)],
      "a version's id names its replica and event": [
        one(upsert("version:r:7", version)),
        one(upsert("version:r:8", version)),
      ],
      "an accepted entry is three numbers": [
        one(upsert("writeback:r", answer)),
        one(upsert("writeback:r", { ...answer, accepted: [[1, 1]] })),
      ],
    }),
    ...pairs("rule-broken", {
      "a proposal is of its path's iteration": [proposal("file:a.txt", 2), proposal("file:a.txt", 1)],
    }),
  ];
}

/** Returns the record of the workspace. `changed`: fields that a case changes. */
export function workspaceRecord(changed?: Changed): RecordBody {
  const filter = { use_gitignore: false, exclude_patterns: [], exclude_globs: [], force_include: [] };
  const limits = { max_entries: 1000, max_bytes: 1000, max_file_size: 1000 };
  const root = (id: string | null): RecordBody => ({ id, folder: "", filter, limits });
  const record = { format: 2, created: TS, roots: [root(null), root(FURTHER)], device: "0", inode: "0" };
  return withFields(record, changed);
}

function ownCases(): Case[] {
  const [first, further] = workspaceRecord()["roots"] as [RecordBody, RecordBody];
  const cut = { cut_from_seq: 5, cut_from_byte: 9, reason: "r", kept_as: "5-9.part", bytes: 1, sha256: HASH };
  const imported = {
    ...{ source: "chronomemory", file_sha256: HASH, head_seq: 1, head_hash: HASH, events: 1, rounded: 0, seqs: [1] },
    times: [TS],
  };
  const user = (id: string): Commit[] => one(upsert(`user:${id}`, { n: 0.5 }));
  const note = { what: "prune", actor: "a", at: TS, detail: "d" };
  const pin = { pinned: true, actor: "a" };
  const state = { class: "private", plan: sha256(contentOf("one")), until: TS };
  const prompt = { class: "private", content: HASH, until: TS };
  const turn = { session: "s", turn: "t", actor: "a", started: TS, prompt };
  return [
    ...fields((changed) => one(upsert(`workspace:${WORKSPACE}`, workspaceRecord(changed))), {
      "a workspace has a root": { roots: [] },
      "the first root has no id": { roots: [further, first] },
      "a further root has an id of its own": { roots: [first, further, further] },
      "a further root's id is one": { roots: [first, { ...further, id: "-" }] },
      "a workspace's format is 2": { format: 1 },
    }),
    ...fields((changed) => one(upsert("recovery:1", withFields(cut, changed))), {
      "a recovery names the file that was kept": { kept_as: undefined },
      "a recovery has its file's hash with its length": { sha256: undefined },
    }),
    ...fields((changed) => one(upsert("import:1", withFields(imported, changed))), {
      "an import has a time for each event": { times: [] },
      "an import counts the records that came from a checkpoint": {
        unverified: { checkpoint: { file_sha256: HASH, seq: 50 } },
      },
      "an import says why it ends at a tear": { unverified: { tear: { line: 2, byte: 9, bytes: 3, lines: 1 } } },
    }),
    ...fields((changed) => one(upsert("pin:1", withFields(pin, changed))), { "a pin is on or off": { pinned: 1 } }),
    ...fields((changed) => one(upsert("git:1", { git: withFields(state, changed) })), {
      "what is kept of git is private": { class: "normal" },
      "what is kept of git is a blob": { plan: "none" },
    }),
    ...fields((changed) => one(upsert("turn:s:t", withFields(turn, changed))), {
      "a turn's id has its session": { session: "other" },
      "a turn's id has the id of the turn": { turn: "other" },
      "a turn has a time": { started: undefined },
      "a prompt is private": { prompt: { ...prompt, class: "protected" } },
      "a prompt's blob is named by its hash": { prompt: { ...prompt, content: "x" } },
      "a prompt is kept until a time": { prompt: withFields(prompt, { until: undefined }) },
    }),
    ...fields((changed) => one(upsert("refused:1", withFields(note, changed))), {
      "what was refused is named": { what: undefined },
    }),
    ...pairs("record-damaged", {
      "a record is of a kind of the page": [user("1"), one(upsert("wish:1", {}))],
      "a user's id has at most 1,024 bytes": [user("é".repeat(512)), user(`${"é".repeat(512)}x`)],
      "a user's id is not empty": [user("x"), user("")],
      "a record of the workspace names it": [
        one(upsert(`workspace:${WORKSPACE}`, workspaceRecord())),
        one(upsert("workspace:other", workspaceRecord())),
      ],
      "only records of users and versions are deleted": [
        [...user("1"), ...one({ op: "delete", recordId: "user:1", record: {} })],
        [...one(upsert("pin:1", pin)), ...one({ op: "delete", recordId: "pin:1", record: {} })],
      ],
      "a compaction's record is of a compaction": [user("1"), one(upsert(`compact:${WORKSPACE}`, {}))],
      "a commit's record holds nothing else": [
        one(upsert(`commit:${WORKSPACE}`, {})),
        one(upsert(`commit:${WORKSPACE}`, { more: 1 })),
      ],
    }),
  ];
}

/** Returns all cases. The histories continue from the state of `h`. */
export function cases(h: HistoryBuilder, filter: Hash): readonly Case[] {
  return [
    ...treeCases(),
    ...fileCases(),
    ...actionCases(h),
    ...outsideCases(),
    ...snapshotCases(h, filter),
    ...intentCases(h),
    ...conflictCases(),
    ...workCases(),
    ...signerCases(h),
    ...givenUpCases(),
    ...replicaCases(),
    ...ownCases(),
  ];
}
