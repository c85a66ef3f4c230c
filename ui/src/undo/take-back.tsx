import { Dialog } from "@base-ui/react/dialog";
import { useMutation, type UseMutationResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { Redo2, Undo2 } from "lucide-react";
import { useId, useState } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { UndoShape } from "../../../src/api/shapes.ts";
import { useMayChange, useWorkspaceApi } from "../data/api.ts";
import { renewWorkspace } from "../data/live.ts";
import type { WorkRef } from "../data/work-ref.ts";
import { Loading, Problem } from "../parts/states.tsx";
import { visible } from "../parts/words.ts";
import { useKeys } from "../shell/use-keys.ts";
import { Outcome } from "./outcome.tsx";
import { type Done, type Plan, planOf } from "./plan.ts";
import "./undo.css";

interface TakeBackProps {
  readonly workspace: string;
  readonly work: WorkRef;
  readonly item: RecentItem | undefined;
  readonly onDone?: () => void;
}

/** Shows the button that takes work back, or does it again. The button first opens a preview of what would happen. */
export function TakeBack({ workspace, work, item, onDone }: TakeBackProps) {
  return (
    <PlanButton
      workspace={workspace}
      plan={planOf(work, item)}
      subject={item?.summary}
      isDisabled={item?.open === true}
      onDone={onDone}
      hasKey
    />
  );
}

interface PlanButtonProps {
  readonly workspace: string;
  /** If absent, no button is shown. */
  readonly plan: Plan | undefined;
  /** The work that the plan is about, in the words of the list. */
  readonly subject?: string | undefined;
  readonly isDisabled?: boolean;
  /** True if the key `u` opens the dialog. */
  readonly hasKey?: boolean;
  /** Called once the plan was carried out. */
  readonly onDone?: (() => void) | undefined;
}

/**
 * Shows a button for a plan. The button opens a dialog with a preview of what would happen. Nothing is changed until a
 * person confirms it there.
 */
export function PlanButton({ workspace, plan, subject, isDisabled = false, hasKey = false, onDone }: PlanButtonProps) {
  // The dialog keeps the plan with which it was opened. Once the work is taken back, the plan of the button changes: it
  // would then do the work again.
  const [opened, setOpened] = useState<Plan>();
  const mayChange = useMayChange();
  const open = (): void => setOpened(plan);
  useKeys(hasKey ? { u: () => mayChange && !isDisabled && open() } : NO_KEYS);
  const shown = plan ?? opened;
  if (!mayChange || shown === undefined) return null;
  const Icon = shown.isRedo ? Redo2 : Undo2;
  return (
    <>
      <button type="button" className="button" onClick={open} disabled={isDisabled}>
        <Icon size={15} aria-hidden="true" /> {shown.title}…
      </button>
      <PlanDialog {...{ workspace, subject, onDone }} plan={opened} onClose={() => setOpened(undefined)} />
    </>
  );
}

const NO_KEYS = {};

interface PlanDialogProps extends Pick<PlanButtonProps, "workspace" | "plan" | "subject" | "onDone"> {
  readonly onClose: () => void;
}

/** Shows a plan with a preview of what would happen, while there is a plan. */
export function PlanDialog({ workspace, plan, subject, onDone, onClose }: PlanDialogProps) {
  return (
    <Dialog.Root open={plan !== undefined} onOpenChange={onClose}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog undo-dialog">
          <Dialog.Title className="dialog-title">{plan?.title}</Dialog.Title>
          {subject === undefined ? null : <p className="undo-subject">{visible(subject)}</p>}
          <Dialog.Description className="quiet">{plan?.meaning}</Dialog.Description>
          {plan === undefined ? null : <UndoSteps workspace={workspace} plan={plan} onDone={onDone} />}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Shows a preview of the plan, then its result, with a button that undoes it. */
function UndoSteps({
  workspace,
  plan,
  onDone,
}: Pick<PlanButtonProps, "workspace" | "onDone"> & { readonly plan: Plan }) {
  const on = useWorkspaceApi(workspace);
  const queries = useQueryClient();
  const renew = (): Promise<void> => renewWorkspace(queries, workspace);
  const act = useMutation({ mutationFn: () => plan.run(on, false), onSuccess: () => onDone?.(), onSettled: renew });
  // The preview is made anew each time the dialog is opened, and when somebody changes something meanwhile.
  const opening = useId();
  const trial = useQuery({
    queryKey: ["workspace", workspace, "trial", plan.title, opening],
    queryFn: () => plan.run(on, true),
    enabled: act.data === undefined && !act.isPending,
    gcTime: 0,
    staleTime: 0,
  });
  const back = useMutation({
    mutationFn: (operation: string) => on.undo({ operation }),
    onSettled: renew,
  });
  if (act.data !== undefined) return <AfterAct result={act.data} back={back} />;
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

interface AfterActProps {
  readonly result: Done;
  readonly back: UseMutationResult<UndoShape, Error, string>;
}

/** Moves the focus to an element when it appears, because the pressed button has disappeared. */
function focus(element: HTMLElement | null): void {
  element?.focus();
}

/** Shows the result of the plan, and a button that undoes it. */
function AfterAct({ result, back }: AfterActProps) {
  return (
    <>
      <Outcome result={result} isDone />
      {back.data === undefined ? null : (
        <>
          <p>Back again:</p>
          <Outcome result={back.data} isDone />
        </>
      )}
      {back.error === null ? null : <Problem error={back.error} />}
      <div className="dialog-actions">
        <WayBack id={result.undo_id} isBusy={back.isPending} isUsed={back.data !== undefined} onBack={back.mutate} />
        <Dialog.Close ref={focus} className="button primary">
          Close
        </Dialog.Close>
      </div>
    </>
  );
}

function changesAnything(result: Done): boolean {
  return result.changes.length + (result.git?.length ?? 0) + (result.kept_aside?.length ?? 0) > 0;
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
