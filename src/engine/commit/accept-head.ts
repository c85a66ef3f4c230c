import type { AcceptedHeadShape } from "../../api/shapes.ts";
import { encodeSigner, signerRecordId, type Acceptance } from "../../core/records/signer-record.ts";
import { catchUp } from "../log/catch-up.ts";
import { damageAmid } from "../log/chain-fault.ts";
import { refuseReadOnly, withCommit } from "./commit.ts";
import type { Context, HeadFollower, HeadKeeper } from "../log/context.ts";
import { headNow } from "./head.ts";
import { provedRoot } from "../state/root-to-state.ts";
import { signingFault } from "../log/signing.ts";

/**
 * Accepts the present history although it is not signed or contradicts its kept head. An event names the log's end, the
 * head that was kept, and the new signer; the note of the old head is kept beside the new one. The log is checked line
 * by line, and its index rebuilt. A signed history is left as it is. Throws `LOG_DAMAGED` if lines in the middle are
 * damaged, and `IO` if the key's file holds no key.
 */
export async function acceptHead(context: Context): Promise<AcceptedHeadShape> {
  refuseReadOnly(context);
  const { head, damage } = await catchUp(context, { recover: false });
  const reason = damage?.message ?? (await signingFault(context))?.message;
  if (reason === undefined) return { accepted: false, ...NOTHING, seq: head.seq };
  const amid = damage?.code === "LOG_DAMAGED" ? await damageAmid(context) : undefined;
  // Nobody can accept that; and the index knows events behind that line which a rebuilt one would not.
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
      // The log may be another history: everything on disk is read again.
      context.worktree.forgetAll();
      return { accepted: true, seq: seq + 1, reason, log: { seq, hash }, head: old, kept_as: keptAs, key };
    },
    { archivedToo: true },
  );
}

const NOTHING = { reason: null, log: null, head: null, kept_as: null, key: null } as const;

/** Discards the index: it may know events that the log does not have, or others. */
async function discardIndex(context: Context): Promise<void> {
  using _held = await context.lock.exclusive(context.waitMs);
  await context.index.reset();
}

/** Hides the kept head, which says nothing about the log that is accepted. */
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

/** Keeps no heads: the new head is kept right behind the event that names its signer. */
const NO_FOLLOWER: HeadFollower = {
  committed: () => Promise.resolve(),
  seen: () => undefined,
  end: () => Promise.resolve(undefined),
};
