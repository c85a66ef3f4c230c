import { Dialog } from "@base-ui/react/dialog";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Scissors } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import type { PruneOptions } from "../../../src/api/action-api.ts";
import type { PruneShape } from "../../../src/api/action-shapes.ts";
import { useApi, useWorkspaceApi } from "../data/api.ts";
import { renewWorkspace } from "../data/live.ts";
import { Command } from "../parts/command.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import { Ago, exactTime } from "../parts/time.tsx";
import { counted, digits, size, visible } from "../parts/words.ts";
import { NO_RULES, pruneOptions, type PruneRules } from "./prune-rules.ts";

/** Gives up old moments: first the rules, then a look at what would go, then the act. Only an operator may. */
export function Prune({ workspace }: { readonly workspace: string }) {
  const { me } = useApi();
  const [rules, setRules] = useState(NO_RULES);
  const [asked, setAsked] = useState<PruneOptions>();
  if (me.role !== "operator") return null;
  const options = pruneOptions(rules);
  const look = (event: FormEvent): void => {
    event.preventDefault();
    setAsked(options);
  };
  const change = (now: PruneRules): void => {
    setRules(now);
    setAsked(undefined);
  };
  return (
    <section className="panel" aria-label="Prune">
      <h2>Prune</h2>
      <p className="quiet">
        Gives up old moments, so that their contents can be freed. Without a rule, it applies the limits above. The
        baseline, named snapshots and what open work needs always stay.
      </p>
      <form className="prune-form" onSubmit={look}>
        <Rule
          label="Keep the newest"
          unit="moments"
          value={rules.last}
          onChange={(last) => change({ ...rules, last })}
        />
        <Rule
          label="Keep all of the last"
          unit="days"
          value={rules.days}
          onChange={(days) => change({ ...rules, days })}
        />
        <Rule
          label="Keep one of each of the last"
          unit="days"
          value={rules.daily}
          onChange={(daily) => change({ ...rules, daily })}
        />
        <label className="prune-pins">
          <input
            type="checkbox"
            checked={rules.isWithPins}
            onChange={(event) => change({ ...rules, isWithPins: event.target.checked })}
          />
          <span>Give up pinned moments, too</span>
        </label>
        <button type="submit" className="button" disabled={options === undefined}>
          Look what it would give up
        </button>
      </form>
      {asked === undefined ? null : <PruneLook key={JSON.stringify(asked)} workspace={workspace} options={asked} />}
    </section>
  );
}

interface RuleProps {
  readonly label: string;
  readonly unit: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Rule({ label, unit, value, onChange }: RuleProps) {
  const field = useId();
  return (
    <p className="prune-rule">
      <label htmlFor={field}>{label}</label>
      <input
        id={field}
        inputMode="numeric"
        value={value}
        placeholder="–"
        aria-invalid={value.trim() !== "" && !/^\s*\d{1,6}\s*$/.test(value)}
        onChange={(event) => onChange(event.target.value)}
      />
      <span className="quiet">{unit}</span>
    </p>
  );
}

interface LookProps {
  readonly workspace: string;
  readonly options: PruneOptions;
}

/** What a prune by these rules would give up, from a dry run of the engine, and then the prune itself. */
function PruneLook({ workspace, options }: LookProps) {
  const on = useWorkspaceApi(workspace);
  const queries = useQueryClient();
  const [isSure, setSure] = useState(false);
  const trial = useQuery({
    queryKey: ["workspace", workspace, "prune", options],
    queryFn: () => on.prune({ ...options, dryRun: true }),
    gcTime: 0,
    retry: false,
  });
  const act = useMutation({
    mutationFn: () => on.prune(options),
    onSettled: async () => {
      await renewWorkspace(queries, workspace);
      await queries.invalidateQueries({ queryKey: ["workspace", workspace, "du"] });
    },
  });
  if (act.data !== undefined) return <Pruned result={act.data} />;
  if (trial.error !== null) return <Problem error={trial.error} onAgain={() => void trial.refetch()} />;
  if (trial.data === undefined) return <Loading what="Looking at what would go" />;
  const what = givenUp(trial.data);
  if (what === "") return <Nothing look={trial.data} />;
  const go = (): void => {
    setSure(false);
    act.mutate();
  };
  return (
    <>
      <Preview workspace={workspace} look={trial.data} />
      {act.error === null ? null : <Problem error={act.error} />}
      <div className="prune-go">
        <button type="button" className="button" disabled={act.isPending} onClick={() => setSure(true)}>
          <Scissors size={14} aria-hidden="true" /> {act.isPending ? "Giving up…" : `Give up ${what}…`}
        </button>
      </div>
      <Dialog.Root open={isSure} onOpenChange={setSure}>
        <Dialog.Portal>
          <Dialog.Backdrop className="backdrop" />
          <Dialog.Popup className="dialog prune-dialog">
            <Dialog.Title className="dialog-title">Give up {what}?</Dialog.Title>
            <Dialog.Description>
              Nobody can go back to them any more. For 24 hours, a command brings them back; after that, the contents
              that nothing else needs ({size(trial.data.freed_bytes)}) can be freed for good. No file in the folder
              changes, and the log keeps every line.
            </Dialog.Description>
            <div className="dialog-actions">
              <Dialog.Close className="button">Cancel</Dialog.Close>
              <button type="button" className="button danger" onClick={go}>
                Give up {what}
              </button>
            </div>
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
    </>
  );
}

/** Returns `2 snapshots and 5 actions`; an empty text if nothing would be given up. */
function givenUp({ pruned_actions: actions, pruned_snapshots: snapshots }: PruneShape): string {
  return [
    ...(snapshots.length === 0 ? [] : [counted(snapshots.length, "snapshot")]),
    ...(actions.length === 0 ? [] : [counted(actions.length, "action")]),
  ].join(" and ");
}

function Nothing({ look }: { readonly look: PruneShape }) {
  return (
    <p role="status">
      Nothing would be given up. <Stays look={look} />
    </p>
  );
}

function Stays({ look: { kept_actions, kept_snapshots, too_young } }: { readonly look: PruneShape }) {
  return (
    <span className="quiet">
      {counted(kept_snapshots, "snapshot")} and {counted(kept_actions, "action")} stay
      {too_young === 0 ? "." : `; ${counted(too_young, "of them is", "of them are")} kept only for being young.`}
    </span>
  );
}

/** The number of moments that are named. */
const MOST = 12;

function Preview({ workspace, look }: { readonly workspace: string; readonly look: PruneShape }) {
  const { freed_contents: contents, freed_bytes: bytes, pruned_actions: actions, pruned_snapshots: numbers } = look;
  return (
    <div className="prune-look">
      <p role="status">
        <strong>{size(bytes)}</strong> ({counted(contents, "content")}) would be freed. <Stays look={look} />
      </p>
      <p>What can no longer be restored or rolled back:</p>
      <ul className="facts-list">
        <Snapshots workspace={workspace} numbers={numbers} />
        <Actions workspace={workspace} ids={actions} />
      </ul>
    </div>
  );
}

function Snapshots({ workspace, numbers }: { readonly workspace: string; readonly numbers: readonly number[] }) {
  const on = useWorkspaceApi(workspace);
  const { data = [] } = useQuery({
    queryKey: ["workspace", workspace, "snapshots"],
    queryFn: () => on.snapshots(),
    enabled: numbers.length > 0,
  });
  const byNumber = new Map(data.map((one) => [one.number, one]));
  return (
    <>
      {numbers.slice(0, MOST).map((number) => {
        const one = byNumber.get(number);
        return (
          <li key={number}>
            <span>
              Snapshot {number}
              {one === undefined ? null : (
                <>
                  : {visible(one.message ?? one.cause)} <Ago at={one.timestamp} />
                </>
              )}
            </span>
          </li>
        );
      })}
      <More count={numbers.length} what="snapshot" />
    </>
  );
}

function Actions({ workspace, ids }: { readonly workspace: string; readonly ids: readonly string[] }) {
  const on = useWorkspaceApi(workspace);
  const shown = ids.slice(0, MOST);
  const { data = [] } = useQuery({
    queryKey: ["workspace", workspace, "pruned actions", shown],
    queryFn: () => Promise.all(shown.map((id) => on.showAction(id))),
    enabled: shown.length > 0,
    retry: false,
  });
  return (
    <>
      {data.map(({ id, action_summary: summary, timestamp, actor }) => (
        <li key={id}>
          <span>
            {visible(summary)} <span className="quiet">by {visible(actor)}</span> <Ago at={timestamp} />
          </span>
        </li>
      ))}
      <More count={ids.length} what="action" />
    </>
  );
}

function More({ count, what }: { readonly count: number; readonly what: string }) {
  if (count <= MOST) return null;
  return (
    <li className="quiet">
      and {digits(count - MOST)} more {count - MOST === 1 ? what : `${what}s`}
    </li>
  );
}

function Pruned({ result }: { readonly result: PruneShape }) {
  const { id, until, freed_bytes: bytes } = result;
  return (
    <div className="done-line" role="status">
      <p>
        Gave up {givenUp(result)}. {size(bytes)} can be freed
        {until === null ? "." : ` after ${exactTime(Date.parse(until))}. Until then, this brings all of it back:`}
      </p>
      {id === null ? null : <Command text={`chronicle unforget ${id}`} />}
    </div>
  );
}
