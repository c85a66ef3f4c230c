import { Dialog } from "@base-ui/react/dialog";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Redo2, Undo2 } from "lucide-react";
import { useId, useState } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { RestoreShape, UndoShape } from "../../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../../src/api/workspace-api.ts";
import { useMayChange, useWorkspaceApi } from "../data/api.ts";
import { undoOf, type WorkRef } from "../data/work-ref.ts";
import { Loading, Problem } from "../parts/states.tsx";
import { visible } from "../parts/words.ts";
import { useKeys } from "../shell/use-keys.ts";
import { Outcome } from "./outcome.tsx";
import "./undo.css";

interface TakeBackProps {
  readonly workspace: string;
  readonly work: WorkRef;
  readonly item: RecentItem | undefined;
  /** The words of the button. Default: as fits the work. */
  readonly title?: string;
}

/** The button that takes work back, or does it again. It first shows exactly what would happen. */
export function TakeBack({ workspace, work, item, title }: TakeBackProps) {
  // The dialog keeps its plan: once the work is taken back, the button's own plan is to do it again.
  const [opened, setOpened] = useState<Plan>();
  const mayChange = useMayChange();
  const found = planOf(work, item);
  const plan = found === undefined || title === undefined ? found : { ...found, title };
  const open = (): void => setOpened(plan);
  useKeys({ u: () => mayChange && item?.open !== true && open() });
  const shown = plan ?? opened;
  if (!mayChange || shown === undefined) return null;
  const Icon = shown.isRedo ? Redo2 : Undo2;
  return (
    <>
      <button type="button" className="button" onClick={open} disabled={item?.open === true}>
        <Icon size={15} aria-hidden="true" /> {shown.title}…
      </button>
      <Dialog.Root open={opened !== undefined} onOpenChange={() => setOpened(undefined)}>
        <Dialog.Portal>
          <Dialog.Backdrop className="backdrop" />
          <Dialog.Popup className="dialog undo-dialog">
            <Dialog.Title className="dialog-title">{opened?.title}</Dialog.Title>
            <Dialog.Description className="quiet">{visible(item?.summary ?? shown.what)}</Dialog.Description>
            {opened === undefined ? null : <UndoSteps workspace={workspace} plan={opened} />}
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
    </>
  );
}

type Done = UndoShape | RestoreShape;

/** A way back: how it is named, and how it is tried or done. */
interface Plan {
  readonly title: string;
  readonly what: string;
  readonly isRedo: boolean;
  readonly run: (on: WorkspaceApi, isTrial: boolean) => Promise<Done>;
}

function planOf(work: WorkRef, item: RecentItem | undefined): Plan | undefined {
  if (item?.undone === true) {
    const operation = item.undone_by;
    if (operation === undefined) return undefined;
    const run = (on: WorkspaceApi, dryRun: boolean): Promise<Done> => on.undo({ operation, dryRun });
    return { title: "Do it again", what: "the work that was undone", isRedo: true, run };
  }
  const undo = undoOf(work);
  if (undo !== undefined) {
    const run = (on: WorkspaceApi, dryRun: boolean): Promise<Done> => on.undo({ ...undo, dryRun });
    return { title: "Take it back", what: "this work", isRedo: false, run };
  }
  if (work.from === undefined || (item !== undefined && item.back === "")) return undefined;
  const { from } = work;
  const run = (on: WorkspaceApi, dryRun: boolean): Promise<Done> => on.restore(from, { dryRun });
  return { title: "Go back to before it", what: `all files as at ${from}`, isRedo: false, run };
}

/** A look at what would happen, then the act, then the way back. */
function UndoSteps({ workspace, plan }: { readonly workspace: string; readonly plan: Plan }) {
  const on = useWorkspaceApi(workspace);
  const queries = useQueryClient();
  const renew = (): Promise<void> => queries.invalidateQueries({ queryKey: ["workspace", workspace] });
  const act = useMutation({ mutationFn: () => plan.run(on, false), onSettled: renew });
  // What would happen is found anew each time the dialog is opened, and when somebody changes something meanwhile.
  const opening = useId();
  const trial = useQuery({
    queryKey: ["workspace", workspace, "trial", plan.title, plan.what, opening],
    queryFn: () => plan.run(on, true),
    enabled: act.data === undefined && !act.isPending,
    gcTime: 0,
    staleTime: 0,
  });
  const back = useMutation({
    mutationFn: (operation: string) => on.undo({ operation }),
    onSettled: renew,
  });
  if (act.data !== undefined)
    return (
      <>
        <Outcome result={act.data} isDone />
        {back.data === undefined ? null : (
          <p role="status" className="done-line">
            Everything is as it was before.
          </p>
        )}
        {back.error === null ? null : <Problem error={back.error} />}
        <div className="dialog-actions">
          <WayBack
            id={act.data.undo_id}
            isBusy={back.isPending}
            isUsed={back.data !== undefined}
            onBack={back.mutate}
          />
          <Dialog.Close className="button primary">Close</Dialog.Close>
        </div>
      </>
    );
  if (trial.isPending) return <Loading what="Looking at what would happen" />;
  const error = act.error ?? trial.error;
  const result = trial.error === null ? trial.data : undefined;
  return (
    <>
      {error === null ? null : <Problem error={error} onAgain={() => void trial.refetch()} />}
      {result === undefined ? null : <Outcome result={result} />}
      <div className="dialog-actions">
        <Dialog.Close className="button">Cancel</Dialog.Close>
        <button
          type="button"
          className="button primary"
          disabled={result === undefined || !changesAnything(result) || act.isPending}
          onClick={() => act.mutate()}
        >
          {act.isPending ? "Doing it…" : plan.title}
        </button>
      </div>
    </>
  );
}

function changesAnything(result: Done): boolean {
  const unmerged = "unmerged" in result ? result.unmerged.length : 0;
  return result.changes.length + unmerged + (result.git?.length ?? 0) + (result.kept_aside?.length ?? 0) > 0;
}

interface WayBackProps {
  readonly id: string | null;
  readonly isBusy: boolean;
  readonly isUsed: boolean;
  readonly onBack: (id: string) => void;
}

function WayBack({ id, isBusy, isUsed, onBack }: WayBackProps) {
  if (id === null || isUsed) return null;
  return (
    <button type="button" className="button" disabled={isBusy} onClick={() => onBack(id)}>
      <Redo2 size={15} aria-hidden="true" /> {isBusy ? "Going back…" : "Back to how it was"}
    </button>
  );
}
