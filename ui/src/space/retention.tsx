import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { RetentionShape } from "../../../src/api/action-shapes.ts";
import type { ConfigShape } from "../../../src/api/shapes.ts";
import { useApi, useWorkspaceApi } from "../data/api.ts";
import { Loading, Problem } from "../parts/states.tsx";
import { counted, size, visible } from "../parts/words.ts";

const LIMITS: Readonly<Record<keyof RetentionShape, readonly [name: string, unit: (value: number) => string]>> = {
  max_snapshots: ["Actions, the newest", (value) => orNone(value, counted(value, "action"))],
  max_age_days: ["Age of actions and snapshots without a name", (value) => orNone(value, counted(value, "day"))],
  min_age_hours: ["Kept in any case, if younger than", (value) => counted(value, "hour")],
  max_store_bytes: ["Size of the whole store", (value) => orNone(value, size(value))],
  max_private_bytes: ["Prompts, states of git and files set aside", (value) => orNone(value, size(value))],
};

function orNone(value: number, words: string): string {
  return value === 0 ? "no limit" : `at most ${words}`;
}

const SWITCHES = [
  ["keepAside", "Before a run, keep aside small files that git ignores and the state of git, for seven days"],
  ["recordPrompts", "Keep what people ask agents, for thirty days"],
] as const satisfies readonly (readonly [keyof ConfigShape, string])[];

/** Shows each limit in force and where the limit comes from, and the choices of what is kept beside the history. */
export function Retention({ workspace }: { readonly workspace: string }) {
  const on = useWorkspaceApi(workspace);
  const { data, error } = useQuery({
    queryKey: ["workspace", workspace, "retention"],
    queryFn: () => on.retention(),
    retry: false,
  });
  return (
    <section className="panel" aria-label="How much is kept">
      <h2>How much is kept</h2>
      {error === null ? null : <Problem error={error} />}
      {data === undefined && error === null ? <Loading /> : null}
      {data === undefined ? null : (
        <>
          <table className="limits">
            <thead>
              <tr>
                <th scope="col">Limit</th>
                <th scope="col">Value</th>
                <th scope="col">Set by</th>
              </tr>
            </thead>
            <tbody>
              {(Object.keys(LIMITS) as (keyof RetentionShape)[]).map((key) => (
                <tr key={key}>
                  <th scope="row">
                    {LIMITS[key][0]} <code className="quiet">{key}</code>
                  </th>
                  <td>{LIMITS[key][1](data[key])}</td>
                  <td className="quiet limit-source">{visible(data.sources[key])}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <p className="quiet">
            To change a limit, write it beneath <code>chronicle:</code> in the <code>config.yaml</code> of the
            configuration folder. It applies when a workspace is next opened, at the latest once the store's process is
            started again.
          </p>
        </>
      )}
      <Switches workspace={workspace} />
    </section>
  );
}

function Switches({ workspace }: { readonly workspace: string }) {
  const on = useWorkspaceApi(workspace);
  const { me } = useApi();
  const queries = useQueryClient();
  const key = ["workspace", workspace, "config"];
  const { data, error } = useQuery({ queryKey: key, queryFn: () => on.config(), retry: false });
  // A choice is shown at once, before the server has answered.
  const [chosen, setChosen] = useState<Partial<ConfigShape>>({});
  const change = useMutation({
    mutationFn: (part: Partial<ConfigShape>) => on.configure(part),
    onSuccess: (now) => queries.setQueryData(key, now),
    onSettled: () => setChosen({}),
  });
  const isOperator = me.role === "operator";
  const shown = { ...data, ...chosen };
  const choose = (part: Partial<ConfigShape>): void => {
    setChosen(part);
    change.mutate(part);
  };
  return (
    <div className="switches">
      {SWITCHES.map(([name, words]) => (
        <label key={name}>
          <input
            type="checkbox"
            checked={shown[name] ?? false}
            disabled={!isOperator || data === undefined || change.isPending}
            onChange={(event) => choose({ [name]: event.target.checked })}
          />
          <span>
            {words} <code className="quiet">{name}</code>
          </span>
        </label>
      ))}
      {(change.error ?? error) === null ? null : <Problem error={change.error ?? error} />}
    </div>
  );
}
