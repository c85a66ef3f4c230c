import { Dialog } from "@base-ui/react/dialog";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useDeferredValue, useId, useState } from "react";
import { useApi } from "../data/api.ts";
import { useWorkspaces } from "../data/queries.ts";
import { workOf, workText } from "../data/work-ref.ts";
import { spokenMoment } from "../parts/spoken-moment.ts";
import { Loading, Problem } from "../parts/states.tsx";
import { exactTime } from "../parts/time.tsx";
import { visible } from "../parts/words.ts";
import type { Plan } from "../undo/plan.ts";
import { PlanDialog } from "../undo/take-back.tsx";
import { type Entry, type PaletteActs, useCommands } from "./palette-commands.ts";

interface PaletteProps extends Pick<PaletteActs, "onKeys"> {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly workspace: string | undefined;
}

/** The command palette: every view, workspace, file, piece of work, moment and command, by a part of its name. */
export function Palette({ isOpen, onClose, workspace, onKeys }: PaletteProps) {
  const [planned, setPlanned] = useState<{ readonly plan: Plan; readonly subject: string }>();
  const acts = { onKeys, onPlan: (plan: Plan, subject: string) => setPlanned({ plan, subject }) };
  return (
    <>
      <Dialog.Root open={isOpen} onOpenChange={(now) => (now ? undefined : onClose())}>
        <Dialog.Portal>
          <Dialog.Backdrop className="backdrop" />
          <Dialog.Popup className="dialog palette" aria-label="Go to">
            <PaletteBody onClose={onClose} workspace={workspace} {...acts} />
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
      {workspace === undefined ? null : (
        <PlanDialog
          workspace={workspace}
          plan={planned?.plan}
          subject={planned?.subject}
          onClose={() => setPlanned(undefined)}
        />
      )}
    </>
  );
}

function PaletteBody({ onClose, workspace, ...acts }: PaletteActs & Omit<PaletteProps, "isOpen">) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const entries = useEntries(useDeferredValue(text), workspace, acts);
  const act = useMutation({ mutationFn: async (entry: Entry) => entry.go(), onSuccess: onClose });
  const chosen = Math.min(at, entries.length - 1);
  const take = (entry: Entry | undefined): void => {
    if (entry !== undefined && !act.isPending) act.mutate(entry);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt(Math.max(0, Math.min(entries.length - 1, chosen + step)));
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(entries[chosen]);
    }
  };
  return (
    <>
      <input
        className="palette-input"
        // The palette is opened to type in it.
        // oxlint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={chosen >= 0 ? `${list}-${chosen}` : undefined}
        aria-label="Go to"
        placeholder="A view, file, moment, command, or what somebody asked for…"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      {act.error === null ? null : <Problem error={act.error} />}
      {act.isPending ? <Loading what={act.variables.label} /> : null}
      <Results id={list} entries={entries} chosen={chosen} onPoint={setAt} onTake={take} />
    </>
  );
}

interface ResultsProps {
  readonly id: string;
  readonly entries: readonly Entry[];
  readonly chosen: number;
  readonly onPoint: (i: number) => void;
  readonly onTake: (entry: Entry) => void;
}

function Results({ id, entries, chosen, onPoint, onTake }: ResultsProps) {
  return (
    <div id={id} role="listbox" aria-label="Results" className="palette-list">
      {entries.map((entry, i) => (
        // The keys are those of the field above, as in every combobox.
        // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
        <div
          key={entry.key}
          id={`${id}-${i}`}
          role="option"
          tabIndex={-1}
          aria-selected={i === chosen}
          className="palette-entry"
          onPointerMove={() => onPoint(i)}
          onClick={() => onTake(entry)}
        >
          <span className="palette-label">{visible(entry.label)}</span>
          <span className="quiet">{entry.group}</span>
        </div>
      ))}
      {entries.length === 0 ? <p className="quiet palette-none">Nothing has this name.</p> : null}
    </div>
  );
}

/** The number of entries of each kind. */
const MOST = 8;

function useEntries(text: string, workspace: string | undefined, acts: PaletteActs): readonly Entry[] {
  const navigate = useNavigate();
  const { client } = useApi();
  const { data: workspaces = [] } = useWorkspaces();
  const asked = text.trim();
  const isAsked = workspace !== undefined && asked.length > 1;
  const { data: found } = useQuery({
    queryKey: ["workspace", workspace ?? "", "palette", asked],
    queryFn: () => findIn(client.workspace(workspace ?? ""), asked),
    enabled: isAsked,
  });
  const own = (
    id: string,
    name: string,
    view: "" | "/changes" | "/files" | "/conflicts" | "/sync" | "/integrity" | "/space",
  ): Entry => ({
    key: `view ${view}`,
    group: "view",
    label: name,
    go: () => void navigate({ to: `/w/$workspace${view}`, params: { workspace: id } }),
  });
  const views = workspace === undefined ? [] : VIEWS.map(([name, view]) => own(workspace, name, view));
  const home = { key: "home", group: "view", label: "All workspaces", go: () => void navigate({ to: "/" }) };
  const places = workspaces.map(({ id, name, path }) => ({
    key: id,
    group: "workspace",
    label: path === "" ? (name ?? id) : path,
    go: () => void navigate({ to: "/w/$workspace", params: { workspace: id } }),
  }));
  const commands = useCommands(workspace, acts);
  const fits = ({ label }: Entry): boolean => label.toLowerCase().includes(asked.toLowerCase());
  const work: readonly Entry[] = isAsked && workspace !== undefined ? entriesOf(found, workspace, navigate) : [];
  const moments = workspace === undefined ? [] : momentsIn(asked, workspace, navigate);
  return [
    ...moments,
    ...[...views, home].filter(fits),
    ...commands.filter(fits),
    ...places.filter(fits).slice(0, MOST),
    ...work,
  ];
}

/** Returns the entry of the moment that a text names, if it names one. */
function momentsIn(text: string, workspace: string, navigate: ReturnType<typeof useNavigate>): readonly Entry[] {
  const time = spokenMoment(text, Date.now());
  if (time === undefined) return [];
  const go = (): Promise<void> =>
    navigate({ to: "/w/$workspace", params: { workspace }, search: { at: new Date(time).toISOString() } });
  return [{ key: "moment", group: "moment", label: `The files of ${exactTime(time)}`, go }];
}

const VIEWS = [
  ["Timeline", ""],
  ["Changes of the last turn", "/changes"],
  ["Files", "/files"],
  ["Conflicts", "/conflicts"],
  ["Sync", "/sync"],
  ["Integrity", "/integrity"],
  ["Space", "/space"],
] as const;

type Found = Awaited<ReturnType<typeof findIn>>;

async function findIn(on: ReturnType<ReturnType<typeof useApi>["client"]["workspace"]>, text: string) {
  const [paths, { items }] = await Promise.all([on.find(text, { part: true }), on.recent(MOST, { grep: text })]);
  return { paths: paths.slice(0, MOST), items };
}

function entriesOf(found: Found | undefined, workspace: string, navigate: ReturnType<typeof useNavigate>): Entry[] {
  if (found === undefined) return [];
  const params = { workspace };
  const files = found.paths.map((path) => ({
    key: `file ${path}`,
    group: "file",
    label: path,
    go: () => void navigate({ to: "/w/$workspace/file", params, search: { path } }),
  }));
  const work = found.items.map((item) => ({
    key: `work ${item.id}`,
    group: item.kind,
    label: item.summary,
    go: () => void navigate({ to: "/w/$workspace/changes", params, search: { work: workText(workOf(item)) } }),
  }));
  return [...files, ...work];
}
