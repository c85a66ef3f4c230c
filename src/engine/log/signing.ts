import type { SigningReason, SigningShape } from "../../api/shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { decodeSigner, signerRecordId } from "../../core/records/signer-record.ts";
import type { EventRow } from "../../storage/index-store.ts";
import type { HistoryContext, KeptHead } from "./context.ts";
import { logHolds } from "./log-holds.ts";
import { readEvent } from "./read-events.ts";
import type { LoggedSigner, SigningFault } from "./signing-fault.ts";
import { memoKey } from "./memo.ts";

/**
 * Decides whether the heads of a history may be signed. The first commit names the signer. From then on, the store must
 * have the signer's key and a signed head. If one of them is missing, nothing proves that the log is the one that was
 * recorded. In that case, recording continues unsigned. No part of the history may be given up until a person accepts
 * its present state.
 */

/** The hint for most faults. */
const ACCEPT =
  "`chronicle verify` says what can be proved; if this is the right history, a person accepts it with `chronicle head --accept`";

/** The hint for a head whose file this user may not read. */
const GIVE_BACK =
  "the file belongs to another user, or its permissions do not let this user read it: `chronicle doctor` says how to make it readable; " +
  "the next change after that also signs what is recorded in the meantime";

/** Returns the signer that the log names last; `undefined` if it names none. */
async function signerInForce(context: HistoryContext): Promise<LoggedSigner | undefined> {
  const row = await context.index.record(signerRecordId(context.workspaceId));
  return row === undefined ? undefined : signerAt(context, row);
}

const lastRead = memoKey<{ readonly row: EventRow; readonly signer: LoggedSigner }>("signer");

async function signerAt(context: HistoryContext, row: EventRow): Promise<LoggedSigner> {
  const known = context.memo.get(lastRead);
  if (known?.row.seq === row.seq && known.row.hash === row.hash) return known.signer;
  const signer = { ...decodeSigner((await readEvent(context, row)).record), seq: row.seq };
  context.memo.set(lastRead, { row, signer });
  return signer;
}

/**
 * Returns the kept head if it is signed with the key of this store, or with the key of a signer that the log names. A
 * head with any other signature proves nothing, because anybody could have stored it.
 */
export async function provedHead(context: HistoryContext): Promise<KeptHead | undefined> {
  const kept = context.heads.last(context.workspaceId);
  if (kept === undefined || kept.seq === 0) return undefined;
  if (kept.valid) return kept;
  return (await signedBySigner(context, kept)) === undefined ? undefined : kept;
}

async function signedBySigner(context: HistoryContext, kept: KeptHead): Promise<LoggedSigner | undefined> {
  const rows = await context.index.recordHistory(signerRecordId(context.workspaceId));
  for (const row of rows.toReversed()) {
    const signer = await readable(signerAt(context, row));
    if (signer !== undefined && kept.isSignedBy(signer.key)) return signer;
  }
  return undefined;
}

/** Returns `undefined` if the line of the signer is damaged, as if the log named no signer. */
async function readable(reading: Promise<LoggedSigner | undefined>): Promise<LoggedSigner | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "LOG_DAMAGED") return undefined;
    throw error;
  }
}

/**
 * Returns why the history must not be signed; `undefined` if it may be signed. Before this call, `catchUp` must have
 * brought the index up to date, and checked the log against the kept head.
 */
export async function signingFault(context: HistoryContext): Promise<SigningFault | undefined> {
  const { heads, workspaceId, isCopy } = context;
  if (isCopy === true || (await context.index.head()).seq === 0) return undefined;
  const signer = await readable(signerInForce(context));
  if (signer === undefined) {
    return fault("no-signer", "this history names no signer: its beginning is not the one that was recorded");
  }
  const broken = keyFault(context, signer);
  if (broken !== undefined) return broken;
  const kept = heads.last(workspaceId) ?? (await firstHead(context));
  if (kept === undefined) {
    return fault("no-head", `the signed head of this history is gone: there is no file heads/${workspaceId}`);
  }
  return kept.valid ? undefined : coverFault(context, signer, kept);
}

/**
 * Returns the fault if the key of this store is missing, unreadable, or not the signer's key; otherwise `undefined`.
 */
function keyFault({ heads }: HistoryContext, signer: LoggedSigner): SigningFault | undefined {
  let key: string | undefined;
  try {
    key = heads.verifierKey();
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    return { reason: "bad-key", message: error.message, hint: error.hint ?? ACCEPT };
  }
  const back = `put the key file back from a copy; without a copy, a new key is made when a person accepts the history as it is: ${ACCEPT}`;
  if (key === undefined) {
    return fault("no-key", `the signing key is gone: there is no file ${heads.keyFile}`, back);
  }
  if (key === signer.key) return undefined;
  return fault(
    "other-key",
    `${heads.keyFile} is not the key that has signed this history since event ${signer.seq}`,
    back,
  );
}

/**
 * Returns the fault of a kept head that the key of this store did not sign. Returns `undefined` if the key of an
 * earlier signer has signed the head, and the head covers the event that names the present signer.
 */
async function coverFault(
  context: HistoryContext,
  signer: LoggedSigner,
  kept: KeptHead,
): Promise<SigningFault | undefined> {
  if (kept.unreadable !== undefined) return fault("bad-head", `the signed head: ${kept.unreadable}`, GIVE_BACK);
  const by = kept.seq === 0 ? undefined : await signedBySigner(context, kept);
  if (by === undefined) {
    const what = "is damaged, or was not signed with the key of this history";
    return fault("bad-head", `the signed head of this history, heads/${context.workspaceId}, ${what}`);
  }
  if (kept.seq >= signer.seq) return undefined;
  return fault(
    "other-key",
    `event ${signer.seq} names another key, and no head that is signed with the previous key covers that event`,
  );
}

/**
 * Returns the head of the first commit if the log contains the last event of that commit; otherwise `undefined`. Used
 * only while no other head is kept.
 */
async function firstHead(context: HistoryContext): Promise<KeptHead | undefined> {
  const first = context.heads.first(context.workspaceId);
  if (first?.valid !== true) return undefined;
  return (await logHolds(context, first)) === true ? first : undefined;
}

function fault(reason: SigningReason, message: string, hint = ACCEPT): SigningFault {
  return { reason, message, hint };
}

/** Returns whether the history is signed, and, if it is not, the reason. `damage`: the damage that `catchUp` found. */
export async function signingShape(context: HistoryContext, damage: ChronicleError | undefined): Promise<SigningShape> {
  const nothing = { reason: null, detail: null, hint: null, key: null, since: null };
  if (context.isCopy === true) return { ...nothing, state: "copy" };
  if (damage !== undefined) {
    return { ...nothing, state: "read-only", detail: damage.message, hint: damage.hint ?? null };
  }
  const signer = await readable(signerInForce(context));
  const known = { key: signer?.key ?? null, since: signer?.seq ?? null };
  const found = await signingFault(context);
  if (found === undefined) return { ...nothing, ...known, state: "signed" };
  const { reason, message: detail, hint } = found;
  return { ...known, state: "unsigned", reason, detail, hint };
}

/**
 * Throws `REFUSED` if the history is not signed, because the operation `what` could remove the only proof of the
 * record.
 */
export async function refuseUnsigned(context: HistoryContext, what: string): Promise<void> {
  const found = await signingFault(context);
  if (found !== undefined) throw unsigned(found, what, context.workspaceId);
}

/** Returns the error for an operation (`what`) that is refused because the history is not signed. */
export function unsigned({ reason, message, hint }: SigningFault, what: string, workspaceId: string): ChronicleError {
  return new ChronicleError("REFUSED", `${what} is refused while this history is not signed: ${message}`, {
    hint,
    data: { workspace: workspaceId, reason },
  });
}
