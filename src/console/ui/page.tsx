/** The frame of a page: its head, its content, and the line under it. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { Keys } from './keys.tsx'

/** What a page is made of. */
export interface PageFrameProps {
  /** Name of the page, or of a table: it is the title of the window too, so it is never a value. */
  readonly title: string
  /** Before the title, such as the way back. */
  readonly before?: ComponentChildren
  /** Beside the title. */
  readonly head?: ComponentChildren
  /** Between the head and the content. */
  readonly bar?: ComponentChildren
  /** The line under the content. */
  readonly foot?: ComponentChildren
  /** Keys and what they do, at the end of that line. */
  readonly keys?: readonly (readonly [keys: string, does: string])[]
  /** True for content that fills the page and scrolls by itself, such as a grid. */
  readonly isFull?: boolean
  readonly children: ComponentChildren
}

/** Draws the frame. */
export function Page({ title, before, head, bar, foot, keys = [], isFull = false, children }: PageFrameProps) {
  useTitle(title)
  return (
    <>
      <header class="head">
        {before}
        <h1>{title}</h1>
        {head}
      </header>
      {bar}
      <div class={isFull ? 'body' : 'body pad'}>{children}</div>
      {foot === undefined && keys.length === 0 ? null : (
        <footer class="foot">
          {foot}
          <span class="foot-keys">
            {keys.map(([of, does]) => (
              <span key={of}>
                <Keys of={of} /> {does}
              </span>
            ))}
          </span>
        </footer>
      )}
    </>
  )
}

/** Names the window. */
export function useTitle(text: string): void {
  useEffect(() => {
    document.title = `${text} · strongroom`
  }, [text])
}
