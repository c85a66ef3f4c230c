import { Dialog } from "@base-ui/react/dialog";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { GcShape, KeptBesideShape } from "../../../src/api/shapes.ts";
import { useApi } from "../data/api.ts";
import { useWorkspaces } from "../data/queries.ts";
import { Loading, Problem } from "../parts/states.tsx";
import { counted, size, visible } from "../parts/words.ts";
import { Bars } from "./bars.tsx";

/**
 * Shows what is kept beside the histories for some days, the budgets for that, and a button that frees unneeded
 * contents.
 */
export function Beside() {
  const { client, me } = useApi();
  const isOwner = me.role === "operator" && me.workspaces === null;
  const { data, error } = useQuery({
    queryKey: ["store", "du"],
    queryFn: () => client.store.du(),
    enabled: isOwner,
    staleTime: 30_000,
    retry: false,
  });
  if (!isOwner) return null;
  return (
    <section className="panel" aria-label="Kept beside the histories">
      <h2>Kept beside the histories</h2>
      <p className="quiet">
        What brings back more than the recorded files, for some days: a part of the contents above.
      </p>
      {error === null ? null : <Problem error={error} />}
      {data === undefined && error === null ? <Loading what="Reading the histories" /> : null}
      {data?.kept_beside === undefined ? null : <Kept kept={data.kept_beside} />}
      <Collect />
    </section>
  );
}

function Kept({ kept }: { readonly kept: KeptBesideShape }) {
  const { prompts, git, aside, budgets, unread = 0 } = kept;
  const rows = [
    { key: "aside", name: "files set aside", bytes: aside.stored_bytes, count: aside.count },
    { key: "git", name: "states of git", bytes: git.stored_bytes, count: git.count },
    { key: "prompts", name: "prompts", bytes: prompts.stored_bytes, count: prompts.count },
  ];
  return (
    <>
      <Bars rows={rows.toSorted((a, b) => b.bytes - a.bytes)} />
      <Budgets budgets={budgets} />
      {unread === 0 ? null : (
        <p className="quiet">{counted(unread, "history", "histories")} could not be read, and are not counted.</p>
      )}
    </>
  );
}

/** The used share of a budget from which on the meter shows that older work will soon be given up. */
const NEARLY = 0.9;

function Budgets({ budgets }: Pick<KeptBesideShape, "budgets">) {
  const { data: workspaces = [] } = useWorkspaces();
  const nameOf = (id: string): string => {
    const one = workspaces.find((other) => other.id === id);
    return one === undefined ? id : one.path === "" ? (one.name ?? id) : one.path;
  };
  const shown = budgets.filter(({ budget_bytes: budget, given_up: given }) => budget > 0 || given !== undefined);
  return (
    <ul className="budgets">
      {shown.map(({ workspace, used_bytes: used, budget_bytes: budget, given_up: given }) => (
        <li key={workspace}>
          <span className="budget-name">{visible(nameOf(workspace))}</span>
          {budget === 0 ? (
            <span>{size(used)}, without a limit</span>
          ) : (
            <>
              <meter
                min={0}
                max={budget}
                high={budget * NEARLY}
                value={used}
                aria-label={`Budget of ${nameOf(workspace)}`}
              />
              <span>
                {size(used)} of {size(budget)}
              </span>
            </>
          )}
          {given === undefined ? null : (
            <span className="quiet">
              given up so far: {size(given.bytes)} of {counted(given.records, "run or action", "runs and actions")}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

/**
 * Shows a button that frees the contents that no history needs. A dialog first explains this, because freed contents
 * cannot be brought back.
 */
function Collect() {
  const { client } = useApi();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const collect = useMutation({
    mutationFn: () => client.store.gc(),
    onSettled: () => queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey.includes("du") }),
  });
  const go = (): void => {
    setOpen(false);
    collect.mutate();
  };
  return (
    <div className="collect">
      <button type="button" className="button" disabled={collect.isPending} onClick={() => setOpen(true)}>
        {collect.isPending ? "Freeing…" : "Free what no history needs…"}
      </button>
      {collect.data === undefined ? null : <Freed freed={collect.data} />}
      {collect.error === null ? null : <Problem error={collect.error} />}
      <Dialog.Root open={isOpen} onOpenChange={setOpen}>
        <Dialog.Portal>
          <Dialog.Backdrop className="backdrop" />
          <Dialog.Popup className="dialog prune-dialog">
            <Dialog.Title className="dialog-title">Free what no history needs</Dialog.Title>
            <Dialog.Description>
              Removes contents that were pruned, erased or forgotten more than 24 hours ago, and files set aside whose
              time is over, in all workspaces of the store. What a history still needs stays. These contents do not come
              back.
            </Dialog.Description>
            <div className="dialog-actions">
              <Dialog.Close className="button">Cancel</Dialog.Close>
              <button type="button" className="button danger" onClick={go}>
                Free them
              </button>
            </div>
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
    </div>
  );
}

function Freed({ freed }: { readonly freed: GcShape }) {
  const { freed_blobs: blobs, freed_bytes: bytes, pending_blobs: pending, pending_bytes: later, damaged = [] } = freed;
  return (
    <div role="status">
      <p>
        {blobs === 0 ? "Nothing was to be freed." : `Freed ${size(bytes)} (${counted(blobs, "content")}).`}
        {pending === 0 ? "" : ` ${size(later)} follow later, because their packs are in use or mostly still needed.`}
      </p>
      {damaged.map(({ workspace, detail }) => (
        <p key={workspace} className="quiet">
          The forgotten history {workspace} is damaged, so what it names was kept: {visible(detail)}
        </p>
      ))}
    </div>
  );
}
