import type { HeadShape } from "../../api/shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { frontierRoot } from "../../core/log/log-tree.ts";
import { catchUp } from "../log/catch-up.ts";
import type { Context, HeadToSign } from "../log/context.ts";
import type { SigningFault } from "../log/signing-fault.ts";
import { refuseUnsigned, signingFault } from "../log/signing.ts";
import { provedRoot, rootToState } from "../state/root-to-state.ts";

/**
 * Returns the head of the history, as it is signed; `root` computes its root. Throws `NOT_FOUND` for an empty history.
 */
export async function headNow(context: Context, root: typeof rootToState): Promise<HeadToSign> {
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
 * Signs the head and keeps it apart from the store, unless it is kept already. With the lock held. If the history may
 * not be signed, returns the reason and keeps nothing.
 */
export async function keepHead(context: Context): Promise<SigningFault | undefined> {
  const { heads, workspaceId } = context;
  const { seq, hash } = await context.index.head();
  const last = heads.last(workspaceId);
  if (seq === 0) return undefined;
  const fault = await signingFault(context);
  if (fault !== undefined || (last?.valid === true && last.seq === seq && last.hash === hash)) return fault;
  // The head by which the former key covers the event that names ours is the proof of that, so it is retired and not
  // lost.
  if (last?.valid === false) heads.retire(workspaceId);
  heads.keep(await headNow(context, rootToState));
  return undefined;
}

/** Returns the signed head, for people and programs. Throws `REFUSED` if the history may not be signed. */
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
