import type { VerifyProblemShape as Problem, ExpectedHeadShape, VerifyShape } from "../../api/shapes.ts";
import type { Context, KeptHead } from "../log/context.ts";
import { type LogFindings, type Need, NO_HASH, verifyLog, type VerifyLogOptions } from "./verify-log.ts";
import type { Progress, VerifyOptions } from "../../api/workspace-api.ts";
import type { Hash } from "../../core/values/hash.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { LoggedSigner } from "../log/signing-fault.ts";
import type { Head } from "../../core/values/event.ts";
import { type ExpectedHead, isVerifierKey, judgeSignature, parseExpected } from "../../core/log/signed-head.ts";
import { addAll } from "../../util/long-lists.ts";
import { IndexAudit } from "./index-audit.ts";
import { provedHead } from "../log/signing.ts";
import { findDamage } from "../log/chain-fault.ts";
import { verifyCopy, presentOf } from "./verify-copy.ts";
import { verifyPlans } from "./verify-plans.ts";
import { actionOfEvent } from "../facts/actions.ts";
import { answer } from "../log/answer.ts";
import { indexedFrom } from "../log/history-start.ts";
import { isInBase } from "../log/read-base.ts";
import { readEvents } from "../log/read-events.ts";

/**
 * Checks every line of the log, the chain of the lines' hashes, every root and every head. Reads the files themselves,
 * and does not trust the index. Unless `quick` is set, also rereads every content, and checks that filters and plans
 * can be used. Returns the problems. Writes only one thing: the index notes a damaged line.
 */
export async function verify(context: Context, options: VerifyOptions = {}): Promise<VerifyShape> {
  return (await examine(context, options)).shape;
}

export interface Examined extends Pick<BlobFindings, "hurt" | "files"> {
  readonly shape: VerifyShape;
  readonly needed: ReadonlyMap<Hash, Need>;
}

/**
 * Like `verify`, but also returns what a repair needs. For each content in `placesOf`, reports all places that need the
 * content.
 */
export async function examine(
  context: Context,
  options: VerifyOptions & Pick<VerifyLogOptions, "placesOf">,
): Promise<Examined> {
  const { placesOf = new Set() } = options;
  const onProgress = progressUnlessAborted(options);
  options.signal?.throwIfAborted();
  const began = performance.now();
  const problems: Problem[] = [];
  const notes: string[] = [];
  const given = options.expect === undefined ? undefined : parseExpected(options.expect);
  // The index and the kept head are read before the log. Other processes may append events and keep newer heads while
  // the log is read.
  const audit = await IndexAudit.begin(context.index);
  const kept = context.heads.last(context.workspaceId) ?? context.heads.first(context.workspaceId);
  const indexed = await context.index.head();
  const log = await verifyLog(context, {
    audit,
    problems,
    notes,
    bound: Math.max(indexed.seq, (await provedHead(context))?.seq ?? 0),
    placesOf,
    onRead: (done, total) => onProgress({ phase: "verify", done, total, unit: "events" }),
    seqsOfInterest: seqsOfInterest(indexed, given, kept),
  });
  const held: ComparedLog = { log, notes };
  const signing = verifySigning(context, log, kept);
  addAll(notes, signing.notes);
  addAll(problems, [...signing.problems, ...checkKept(context, log, signing.head), ...checkIndex(indexed, log)]);
  // The index cannot be compared with events after a damaged line.
  if (!log.broken) addAll(problems, await audit.finish());
  else await findDamage(context);
  addAll(problems, await checkQuarantine(context, log));
  if (options.quick !== true) addAll(problems, await verifyPlans(context, log.own));
  for (const { where, fault } of context.store.fileFaults())
    problems.push({ kind: "file-damaged", where, detail: fault });
  const expected = given === undefined ? undefined : checkExpected(context, held, given);
  addAll(problems, expected?.problems ?? []);
  const copied = await verifyCopy(context, {
    ...{ problems, notes, placesOf },
    onRead: (done, total) =>
      onProgress({ phase: "verify", done: log.events + done, total: log.events + total, unit: "events" }),
  });
  const needed = together(copied, await presentOf(context, log.needed));
  addAll(notes, await leftOutNotes(context, log.needed));
  const blobs = await verifyBlobs(context, { needed, quick: options.quick === true, problems, onProgress });
  const shape: VerifyShape = {
    ok: problems.length === 0,
    events: log.events,
    blobs: blobs.count,
    bytes: blobs.bytes,
    problems,
    notes,
    anchored_to: anchorOf(signing.head, log),
    expected: expected?.shape ?? null,
    seconds: Math.round(performance.now() - began) / 1_000,
  };
  return { shape, needed, hurt: blobs.hurt, files: blobs.files };
}

/** Returns a function that reports progress. Once `signal` has aborted, the function throws the signal's reason. */
function progressUnlessAborted({ onProgress, signal }: VerifyOptions): (progress: Progress) => void {
  return (progress) => {
    signal?.throwIfAborted();
    onProgress?.(progress);
  };
}

/**
 * Returns a note that says how many needed contents are missing because an imported archive left them out on purpose.
 * Returns an empty list if none are missing.
 */
async function leftOutNotes(context: Context, needed: ReadonlyMap<Hash, Need>): Promise<string[]> {
  const leftOut = [...context.store.leftOut()].filter((hash) => needed.has(hash));
  const missing = leftOut.length - (await context.blobs.has(leftOut)).size;
  if (missing === 0) return [];
  const what = missing === 1 ? "1 content is" : `${missing} contents are`;
  return [`${what} missing: the archive from which this history was imported has left out such contents on purpose`];
}

/**
 * Merges the contents that the workspace needs (`own`) with the contents that its copy of an origin's history needs
 * (`copied`). A content that both need gets the places of both.
 */
function together(copied: ReadonlyMap<Hash, Need>, own: ReadonlyMap<Hash, Need>): ReadonlyMap<Hash, Need> {
  const needed = new Map([...copied, ...own]);
  for (const [hash, { places }] of copied) {
    const ours = own.get(hash);
    if (places !== undefined && ours !== undefined)
      needed.set(hash, { ...ours, places: [...(ours.places ?? []), ...places] });
  }
  return needed;
}

function anchorOf(head: KeptHead | undefined, log: LogFindings): number | null {
  return head !== undefined && log.at.has(head.seq) ? head.seq : null;
}

function seqsOfInterest(
  indexed: Head,
  given: ExpectedHead | undefined,
  kept: KeptHead | undefined,
): ReadonlySet<number> {
  const seqs = new Set<number>([indexed.seq]);
  if (kept !== undefined) seqs.add(kept.seq);
  if (given !== undefined) seqs.add(given.seq);
  return seqs;
}

interface Claim {
  readonly seq: number;
  readonly hash: Hash;
  readonly logRoot: Hash;
  readonly root?: Hash;
  readonly where: string;
}

interface ComparedLog {
  readonly log: LogFindings;
  readonly notes: string[];
}

/**
 * The kind of problem for a head from before the log's beginning. The log proves nothing about such a head, because a
 * forged log can begin at any event.
 */
const UNHELD = "head-unheld";

function checkClaim(log: LogFindings, claim: Claim): Problem[] {
  const { where, seq } = claim;
  if (log.lastSeq < seq) {
    return [
      {
        kind: "log-truncated",
        where,
        detail: `the log ends at event ${log.lastSeq}, but a head says that event ${seq} was recorded`,
      },
    ];
  }
  const at = log.at.get(seq);
  if (at === undefined && seq < log.firstSeq) {
    const by = `event ${seq} was compacted away by event ${log.firstSeq}, and the archive is missing`;
    return [{ kind: UNHELD, where, detail: `${by}: this head can no longer be checked` }];
  }
  if (at === undefined) return [{ kind: "head-unknown", where, detail: `event ${seq} could not be read` }];
  const problems: Problem[] = [];
  if (at.hash !== claim.hash)
    problems.push({
      kind: "log-replaced",
      where,
      detail: `event ${seq} has the hash ${at.hash}, but the head names ${claim.hash}`,
    });
  else if (at.logRoot !== claim.logRoot) {
    problems.push({
      kind: "log-replaced",
      where,
      detail: `the log root at event ${seq} is ${at.logRoot}, but the head names ${claim.logRoot}`,
    });
  }
  if (problems.length === 0 && claim.root !== undefined && at.root !== undefined && at.root !== claim.root) {
    problems.push({
      kind: "root-wrong",
      where,
      detail: `the Merkle root at event ${seq} is ${at.root}, but the head names ${claim.root}`,
    });
  }
  return problems;
}

/**
 * Compares the log with the kept head. Before a compaction drops lines, it keeps a new head, of the last dropped event.
 * If the kept head is of an earlier event, this is therefore a problem, although the log cannot disprove such a head.
 */
function checkKept({ workspaceId }: Context, log: LogFindings, kept: KeptHead | undefined): Problem[] {
  return kept === undefined ? [] : checkClaim(log, { ...claimOf(kept), where: `heads/${workspaceId}` });
}

function claimOf({ seq, hash, logRoot, root }: KeptHead): Omit<Claim, "where"> {
  return { seq, hash, logRoot, root };
}

/** Compares the log with a head that the caller expects. A head with a wrong signature is not compared. */
function checkExpected(
  context: Context,
  held: ComparedLog,
  given: ExpectedHead,
): { readonly shape: ExpectedHeadShape; readonly problems: readonly Problem[] } {
  const signature = checkSignature(context, held, given);
  // If the head belongs to another workspace, its key need not be known here.
  const isOurs = given.workspace === context.workspaceId;
  const unknown = signature === "unknown-key" && isOurs ? [UNKNOWN_EXPECTED] : [];
  const problems = signature === "invalid" ? [INVALID_EXPECTED] : [...unknown, ...checkContent(context, held, given)];
  const ok = problems.length === 0 && held.log.at.has(given.seq);
  return { shape: { seq: given.seq, ok, signature }, problems };
}

const INVALID_EXPECTED: Problem = {
  kind: "head-invalid",
  where: "--expect",
  detail: "the signature of the expected head is not valid, so the log was not compared with the head",
};

/**
 * The problem for an expected head that an unknown key has signed. Anybody can make a key, so such a signature proves
 * nothing.
 */
const UNKNOWN_EXPECTED: Problem = {
  kind: "head-unknown-key",
  where: "--expect",
  detail:
    "the expected head is signed with a key that is neither yours nor named in this history: give the output of `chronicle head --json` from the store that signed the head, which includes the key",
};

/**
 * Checks a signature with the store's own key, with the keys of the signers in the log, and with the key that was
 * printed with the head.
 */
function checkSignature(
  context: Context,
  { log, notes }: ComparedLog,
  { note, key }: ExpectedHead,
): ExpectedHeadShape["signature"] {
  if (note === undefined) {
    notes.push("--expect: the head is not signed, so only its content was compared with the log");
    return "none";
  }
  const own = ownKey(context);
  const known = [...(own === undefined ? [] : [own]), ...log.signers.map((one) => one.key).filter(isVerifierKey)];
  const verdicts = known.map((one) => judgeSignature(note, one));
  const isGivenGood = key === undefined || judgeSignature(note, key) === "valid";
  if (verdicts.includes("invalid") || !isGivenGood) return "invalid";
  if (verdicts.includes("valid")) return "valid";
  if (key === undefined) return "unknown-key";
  notes.push(
    "--expect: the head is signed with a key that is neither yours nor named in this history, and was checked only with the key that was printed with the head",
  );
  return "valid";
}

/**
 * Returns the store's own public key; `undefined` if the key is missing or cannot be read. `checkKey` reports such a
 * key.
 */
function ownKey({ heads }: Context): string | undefined {
  try {
    return heads.verifierKey();
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    throw error;
  }
}

function checkContent(context: Context, held: ComparedLog, given: ExpectedHead): Problem[] {
  const where = "--expect";
  if (given.workspace === context.workspaceId) return checkClaim(held.log, { ...given, where });
  const detail = `the head belongs to workspace ${given.workspace}, but this is ${context.workspaceId}`;
  return [{ kind: "wrong-workspace", where, detail }];
}

/**
 * Compares the log with the head that the index knows: the log must not end before this head, and must not have another
 * event at the seq of this head.
 */
function checkIndex(head: Head, log: LogFindings): Problem[] {
  if (head.seq === 0) return [];
  const where = "index.db";
  if (head.seq > log.lastSeq) {
    return [
      {
        kind: "log-truncated",
        where,
        detail: `the log ends at event ${log.lastSeq}, but the index knows event ${head.seq}`,
      },
    ];
  }
  const at = log.hashes(head.seq);
  // An unreadable line is reported elsewhere, and does not prove that the event was replaced.
  if (at !== undefined && at !== head.hash && at !== NO_HASH) {
    return [
      { kind: "log-replaced", where, detail: `event ${head.seq} has the hash ${at}, but the index names ${head.hash}` },
    ];
  }
  return [];
}

/**
 * Checks the files in quarantine: parts that recoveries have cut off the log. Each part must be present, with the
 * recorded length and hash. If the record of a part was in a dropped archive, the part is not checked.
 */
async function checkQuarantine(
  { log }: Pick<Context, "log">,
  { recoveries }: Pick<LogFindings, "recoveries">,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const { kept_as: name, bytes, sha256 } of recoveries) {
    // A record that names no part has no bytes to compare.
    if (typeof name !== "string" || !isPartName(name)) continue;
    const where = `quarantine/${name}`;
    const part = await log.quarantined(name);
    if (part === undefined) {
      problems.push({ kind: "quarantine-missing", where, detail: "the part that was cut off the log is gone" });
    } else if (typeof sha256 === "string" && (part.hash !== sha256 || part.bytes !== bytes)) {
      const detail = `the ${part.bytes} bytes of this file are not those that were cut off the log`;
      problems.push({ kind: "quarantine-damaged", where, detail });
    }
  }
  return problems;
}

/** True if a name from the log has the form of a part's name. Such a name cannot lead to another folder. */
function isPartName(name: string): boolean {
  return /^[0-9.-]+\.part$/.test(name);
}

interface VerifyBlobsOptions {
  readonly onProgress: (progress: Progress) => void;
  readonly needed: ReadonlyMap<Hash, Need>;
  readonly quick: boolean;
  readonly problems: Problem[];
}

interface BlobFindings {
  readonly count: number;
  /** The number of the store's bytes that were read; 0 if `quick` is set. */
  readonly bytes: number;
  /** Missing contents, and all damaged contents, including those that only other workspaces need. */
  readonly hurt: ReadonlySet<Hash>;
  /** Damaged files, as `BlobProblem.file` names them. */
  readonly files: ReadonlySet<string>;
}

/**
 * Checks that every needed content is present and, unless `quick` is set, that all stored contents have the hashes that
 * name them.
 */
async function verifyBlobs(context: Context, options: VerifyBlobsOptions): Promise<BlobFindings> {
  const { needed, problems } = options;
  const missing = new Set(needed.keys());
  const hurt = new Set<Hash>();
  const files = new Set<string>();
  let bytes = 0;
  if (options.quick) {
    for (const hash of await context.blobs.has([...missing])) missing.delete(hash);
  } else {
    for await (const problem of context.blobs.verify({
      onBlob: (hash) => missing.delete(hash),
      onProgress: (done, total) => {
        bytes = total;
        options.onProgress({ phase: "verify", done, total, unit: "bytes" });
      },
    })) {
      for (const hash of problem.hashes) hurt.add(hash);
      if (problem.file !== undefined) files.add(problem.file);
      const needing = problem.hashes.flatMap((hash) => needed.get(hash)?.where ?? []);
      const whom = needing.length > 0 ? `; needed by ${needing.slice(0, 5).join(", ")}` : "";
      problems.push({ kind: problem.kind, where: problem.where, detail: `${problem.detail}${whom}` });
    }
  }
  for (const hash of missing) {
    hurt.add(hash);
    problems.push({
      kind: "blob-missing",
      where: needed.get(hash)?.where ?? hash,
      detail: `the content ${hash} is not in the store`,
    });
  }
  return { count: needed.size, bytes, hurt, files };
}

interface SigningFindings {
  readonly problems: readonly Problem[];
  readonly notes: readonly string[];
  /**
   * The kept head, if the store's own key or a signer of this history signed it. If the log is empty, the kept head,
   * whoever signed it.
   */
  readonly head: KeptHead | undefined;
}

/**
 * Compares the signers that a history names with the kept key and the kept head. Does not use the index. Does not check
 * a copy, because the origin keeps the head of its history. `kept` must be read before the log, because another process
 * may keep a newer head while the log is read.
 */
function verifySigning(
  context: Context,
  { signers, lastSeq, broken }: LogFindings,
  kept: KeptHead | undefined,
): SigningFindings {
  if (context.isCopy === true) return { problems: [], notes: [], head: undefined };
  const problems: Problem[] = [];
  const notes: string[] = [];
  const tell = (kind: string, where: string, detail: string): void => void problems.push({ kind, where, detail });
  const signer = signers.at(-1);
  // An empty log names no signer. In a broken log, the line that names the signer may be damaged.
  if (signer === undefined && lastSeq > 0 && !broken)
    tell("signer-missing", "events.wal", "no event names the key that signs the heads of this history");
  const head = lastSeq === 0 ? kept : checkHead(context, { signers, kept }, tell);
  if (signer !== undefined) checkKey(context, signer, tell);
  signers.forEach((one, i) => {
    const before = signers[i - 1];
    if (one.why === "accepted") notes.push(acceptedNote(one));
    else if (before !== undefined && !isCovered(context, one, before)) {
      tell(
        "signer-unproved",
        `event ${one.seq}`,
        "it names a new key, and no kept head that is signed with the previous key covers this event",
      );
    }
  });
  return { problems, notes, head };
}

type Tell = (kind: string, where: string, detail: string) => void;

function checkHead(
  { workspaceId }: Context,
  { signers, kept }: { readonly signers: readonly LoggedSigner[]; readonly kept: KeptHead | undefined },
  tell: Tell,
): KeptHead | undefined {
  const where = `heads/${workspaceId}`;
  if (kept === undefined) {
    tell("head-missing", where, "there is no signed head, though a head must have been kept since the first event");
    return undefined;
  }
  if (kept.valid || signers.some(({ key }) => kept.isSignedBy(key))) return kept;
  const why = kept.unreadable ?? "the signature of the kept head is not valid for the key that is kept with the head";
  tell("head-invalid", where, why);
  return undefined;
}

function checkKey({ heads }: Context, signer: LoggedSigner, tell: Tell): void {
  const where = "key.pem";
  try {
    const own = heads.verifierKey();
    if (own === undefined) tell("key-missing", where, `there is no file ${heads.keyFile}`);
    else if (own !== signer.key) {
      tell("key-other", where, `${heads.keyFile} is not the key of the signer that event ${signer.seq} names`);
    }
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    tell("key-invalid", where, error.message);
  }
}

function isCovered({ heads, workspaceId }: Context, signer: LoggedSigner, before: LoggedSigner): boolean {
  const last = heads.last(workspaceId);
  const known = [...(last === undefined ? [] : [last]), ...heads.former(workspaceId)];
  return known.some((head) => head.seq >= signer.seq && head.isSignedBy(before.key));
}

function acceptedNote({ seq, actor, accepted }: LoggedSigner): string {
  const { log, head, keptAs, reason } = accepted ?? { log: { seq: seq - 1 }, head: null, keptAs: null, reason: "" };
  const old = head === null ? "no readable head was kept" : `the head kept until then was of event ${head.seq}`;
  const where = keptAs === null ? "" : ` (kept as heads/${keptAs})`;
  return `event ${seq}: ${actor} accepted the history as it was at event ${log.seq}; ${old}${where}; the reason: ${reason}`;
}

/** The maximum number of problems in the message of the error. The data of the error has all problems. */
const MOST_NAMED = 3;

/**
 * Verifies everything that `verify` verifies with `quick`. If nothing is wrong, also verifies that each action names
 * the action before it. Throws `INTEGRITY_VIOLATION` if anything is wrong.
 */
export async function verifyIntegrity(context: Context): Promise<void> {
  const { problems } = await verify(context, { quick: true });
  if (problems.length === 0) addAll(problems, await answer(context, () => brokenLinks(context)));
  if (problems.length === 0) return;
  const named = problems.slice(0, MOST_NAMED).map((one) => `${one.where}: ${one.detail}`);
  const more = problems.length > named.length ? ` and ${problems.length - named.length} more` : "";
  throw new ChronicleError("INTEGRITY_VIOLATION", `the history is not what was recorded: ${named.join("; ")}${more}`, {
    hint: "run `chronicle verify` for the whole list",
    data: { problems },
  });
}

/**
 * Returns a problem for each action that does not name its predecessor, the action begun right before it. An action
 * must name its predecessor even if the predecessor was pruned. The first action is not checked, because its
 * predecessor may be compacted away.
 */
async function brokenLinks(context: Context): Promise<{ kind: string; where: string; detail: string }[]> {
  const rows = (await context.index.records("action:")).filter((row) => !isInBase(row));
  const actions = (await readEvents(context, rows)).map(actionOfEvent).sort((a, b) => a.seq - b.seq);
  const begins = (await indexedFrom(context)) ?? 1;
  return actions.flatMap((action, i) => {
    const before = actions[i - 1];
    // If `before` began before the first event of the log, actions between `before` and `action` may be compacted away.
    if (before === undefined || before.seq < begins || action.previous === before.hash) return [];
    const detail = `the action does not name the action begun right before it, ${before.id}`;
    return [{ kind: "action-link", where: `action ${action.id}`, detail }];
  });
}
