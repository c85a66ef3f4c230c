import type { HeadShape } from "../api/shapes.ts";
import { ChronicleError } from "../core/errors.ts";
import { frontierRoot } from "../core/log-tree.ts";
import type { Context, HeadToSign } from "./context.ts";
import { provedRoot, rootToState } from "./root-to-state.ts";

/** The head of the history, as it is signed; `root` computes its root. Throws `NOT_FOUND` for an empty history. */
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

/** Signs the head and keeps it apart from the store, unless it is kept already. With the lock held. */
export async function keepHead(context: Context): Promise<void> {
  const { seq, hash } = await context.index.head();
  const last = context.heads.last(context.workspaceId);
  if (seq === 0 || (last?.valid === true && last.seq === seq && last.hash === hash)) return;
  context.heads.keep(await headNow(context, rootToState));
}

/** The signed head, for people and programs. */
export async function showHead(context: Context): Promise<HeadShape> {
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
