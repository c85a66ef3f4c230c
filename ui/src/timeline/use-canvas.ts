import { type RefObject, useEffect, useRef, useState } from "react";
import type { Paper } from "./draw-lanes.ts";

interface Canvas {
  readonly ref: RefObject<HTMLCanvasElement | null>;
  /** The width of the canvas in CSS pixels. */
  readonly width: number;
}

/** Returns a canvas that is as wide as its container, sharp on every screen, and drawn again when the theme changes. */
export function useCanvas(height: number, draw: (paper: Paper) => void): Canvas {
  const ref = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const canvas = ref.current;
    if (canvas === null) return undefined;
    const size = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    size.observe(canvas);
    const changed = (): void => setTheme((count) => count + 1);
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", changed);
    const chosen = new MutationObserver(changed);
    chosen.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      size.disconnect();
      chosen.disconnect();
      system.removeEventListener("change", changed);
    };
  }, []);
  useEffect(() => {
    const canvas = ref.current;
    const context = canvas?.getContext("2d");
    if (canvas === null || context === null || context === undefined || width === 0) return;
    const scale = devicePixelRatio;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    draw({ context, width, height, colour: coloursOf(canvas) });
    // The canvas is drawn after each render, because the picture depends on the state of the render. `theme` is part of
    // this state, because the picture uses the colours of the theme.
    void theme;
  });
  return { ref, width };
}

/**
 * Returns a function that reads a colour from the page's styles. The browser resolves `light-dark()` only in a property
 * that has a colour, so the function sets `color` of the canvas and reads the computed value.
 */
function coloursOf(canvas: HTMLCanvasElement): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    let colour = known.get(name);
    if (colour === undefined) {
      canvas.style.color = `var(${name})`;
      colour = getComputedStyle(canvas).color;
      known.set(name, colour);
    }
    return colour;
  };
}
