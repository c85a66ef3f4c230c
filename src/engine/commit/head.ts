import type { HeadShape, AcceptedHeadShape } from "../../api/shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { frontierRoot } from "../../core/log/log-tree.ts";
import { catchUp } from "../log/catch-up.ts";
import type { Context, HeadToSign, HeadFollower, HeadKeeper } from "../log/context.ts";
import type { SigningFault } from "../log/signing-fault.ts";
import { refuseUnsigned, signingFault } from "../log/signing.ts";
import { provedRoot, rootToState } from "../state/root-to-state.ts";
import { encodeSigner, signerRecordId, type Acceptance } from "../../core/records/signer-record.ts";
import { damageAmid } from "../log/chain-fault.ts";
import { refuseReadOnly, withCommit } from "./commit.ts";

async function headNow(context: Context, root: typeof rootToState): Promise<HeadToSign> {
  const head = await context.index.head();
  if (head.hash === "") {
    throw new ChronicleError("NOT_FOUND", "nothing is recorded yet, so there is no head", {
      hint: "run `chronicle init`",
    });
  }
  return {
    workspaceId: context.workspaceId,
    seq: head.seq,
    hash: head.hash,
    logRoot: frontierRoot(head.frontier),
    root: await root(context, head.seq),
  };
}

/**
 * Signs the head and keeps it apart from the store. Does nothing if the history is empty or if this head is kept
 * already. If the history must not be signed, keeps nothing and returns the reason; otherwise returns `undefined`. The
 * caller must hold the lock.
 */
export async function keepHead(context: Context): Promise<SigningFault | undefined> {
  const { heads, workspaceId } = context;
  const { seq, hash } = await context.index.head();
  const last = heads.last(workspaceId);
  if (seq === 0) return undefined;
  const fault = await signingFault(context);
  if (fault !== undefined || (last?.valid === true && last.seq === seq && last.hash === hash)) return fault;
  // A kept head that the present key did not sign was signed with the former key, and covers the event that names the
  // present key. Such a head is retired (kept for ever), because it proves that event.
  if (last?.valid === false) heads.retire(workspaceId);
  heads.keep(await headNow(context, rootToState));
  return undefined;
}

/**
 * Signs the present head anew and returns it, without keeping it. Throws `REFUSED` if the history must not be signed,
 * and `NOT_FOUND` if the history is empty. If the log is damaged, throws the error of the damage.
 */
export async function showHead(context: Context): Promise<HeadShape> {
  const { damage } = await catchUp(context, { recover: false });
  if (damage !== undefined) throw damage;
  await refuseUnsigned(context, "signing a head");
  const head = await headNow(context, provedRoot);
  const signed = context.heads.sign(head);
  return {
    workspace: context.workspaceId,
    seq: head.seq,
    hash: head.hash,
    log_root: head.logRoot,
    root: head.root,
    note: signed.note,
    key: signed.key,
  };
}

/**
 * Accepts the present history although it is not signed or contradicts its kept head. Leaves a signed history as it is,
 * and returns `accepted: false` for it.
 *
 * - Records an event that names the end of the log, the head that was kept, the new signer and the reason. Creates the
 *   key if it is missing.
 * - Keeps a copy of the old head beside the new head.
 * - If the log is damaged, or contradicts its index or the kept head, rebuilds the index. The rebuild checks the log
 *   line by line.
 *
 * `why`: the reason. Default: the message of the fault that is accepted.
 *
 * Throws `READ_ONLY` if the workspace was opened for reading only, and `LOG_DAMAGED` if lines in the middle of the log
 * are damaged. Throws `IO` if the key file contains no key.
 */
export async function acceptHead(
  context: Context,
  { why }: { readonly why?: string } = {},
): Promise<AcceptedHeadShape> {
  refuseReadOnly(context);
  const { head, damage } = await catchUp(context, { recover: false });
  const fault = damage?.message ?? (await signingFault(context))?.message;
  const reason = fault === undefined ? undefined : (why ?? fault);
  if (reason === undefined) return { accepted: false, ...NOTHING, seq: head.seq };
  const amid = damage?.code === "LOG_DAMAGED" ? await damageAmid(context) : undefined;
  // Damage in the middle of the log cannot be accepted. The index is not discarded, because it knows the events after
  // the damage, which a rebuilt index would lack.
  if (amid !== undefined) throw amid;
  if (damage !== undefined) await discardIndex(context);
  const { heads, workspaceId, caller } = context;
  const accepting: Context = { ...context, heads: withoutHead(heads), headFollower: NO_FOLLOWER };
  return withCommit(
    accepting,
    async (commit) => {
      const { seq, hash } = await commit.head();
      const last = heads.last(workspaceId);
      const old = last === undefined || last.seq === 0 ? null : { seq: last.seq, hash: last.hash };
      const keptAs = heads.retire(workspaceId) ?? null;
      const accepted: Acceptance = { log: { seq, hash }, head: old, keptAs, reason };
      const key = heads.makeKey();
      const record = encodeSigner({ key, since: seq + 1, why: "accepted", actor: caller.actor, accepted });
      await commit.append([{ op: "upsert", recordId: signerRecordId(workspaceId), record }]);
      heads.replace(await headNow(accepting, provedRoot));
      // The next capture reads everything on disk again, because the log may be another history.
      context.worktree.forgetAll();
      return { accepted: true, seq: seq + 1, reason, log: { seq, hash }, head: old, kept_as: keptAs, key };
    },
    { archivedToo: true },
  );
}

const NOTHING = { reason: null, log: null, head: null, kept_as: null, key: null } as const;

/** Discards the index, because it may know events that the log does not have. */
async function discardIndex(context: Context): Promise<void> {
  using _held = await context.lock.exclusive(context.waitMs);
  await context.index.reset();
}

/**
 * Returns a keeper whose `last` and `first` return no head, because the kept heads say nothing about the log that is
 * accepted.
 */
function withoutHead(heads: HeadKeeper): HeadKeeper {
  return {
    keyFile: heads.keyFile,
    verifierKey: () => heads.verifierKey(),
    makeKey: () => heads.makeKey(),
    last: () => undefined,
    first: () => undefined,
    signFirst: (head) => heads.signFirst(head),
    keep: (head) => heads.keep(head),
    replace: (head) => heads.replace(head),
    former: (workspaceId) => heads.former(workspaceId),
    retire: (workspaceId) => heads.retire(workspaceId),
    sign: (head) => heads.sign(head),
  };
}

/**
 * The follower that keeps no heads, because `acceptHead` itself keeps the new head right after the event that names the
 * signer.
 */
const NO_FOLLOWER: HeadFollower = {
  committed: () => Promise.resolve(),
  seen: () => undefined,
  end: () => Promise.resolve(undefined),
  keepNow: () => Promise.resolve(),
};
