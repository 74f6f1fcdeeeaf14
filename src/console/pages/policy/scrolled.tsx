/** What can be wider than the page, and scrolls by itself. */
import type { ComponentChildren } from 'preact'

/** Draws it. */
export function Scrolled({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: It scrolls, and the keyboard must reach it.
    <section class="scrolled" aria-label={label} tabIndex={0} data-start>
      {children}
    </section>
  )
}
