import { counted, digits, size, visible } from "../parts/words.ts";

export interface Bar {
  readonly key: string;
  readonly name: string;
  readonly bytes: number;
  readonly count?: number;
}

const MOST = 40;

/** Shows sizes as bars, in the given order. */
export function Bars({ rows }: { readonly rows: readonly Bar[] }) {
  const most = Math.max(1, ...rows.map(({ bytes }) => bytes));
  if (rows.length === 0) return <p className="quiet">Nothing yet.</p>;
  return (
    <>
      <ul className="bars">
        {rows.slice(0, MOST).map(({ key, name, bytes, count }) => (
          <li key={key}>
            <span className="bar-name" title={visible(name)}>
              {visible(name)}
            </span>
            <span className="bar" aria-hidden="true">
              {bytes === 0 ? null : <span style={{ width: `${(bytes / most) * 100}%` }} />}
            </span>
            <span className="bar-size">{size(bytes)}</span>
            <span className="quiet bar-count">{count === undefined ? "" : counted(count, "content")}</span>
          </li>
        ))}
      </ul>
      {rows.length > MOST ? (
        <p className="quiet">
          and {digits(rows.length - MOST)} smaller, with{" "}
          {size(rows.slice(MOST).reduce((sum, { bytes }) => sum + bytes, 0))}
        </p>
      ) : null}
    </>
  );
}
