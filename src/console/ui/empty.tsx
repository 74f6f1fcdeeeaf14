/** What a page says where it has nothing to show. */
import type { ComponentChildren } from 'preact'

/** Says it, and what can be done. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}
