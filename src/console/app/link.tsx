/** A link to a page of the console. */
import type { ComponentChildren } from 'preact'
import { go, hrefOf, type Path, path } from './router.ts'
import { useStore } from './store.ts'

/** Opens a page without a request for the document. With a key of the browser's it opens in a new tab, which has to sign in. */
export function Link({
  to,
  class: name,
  children,
}: {
  readonly to: Path
  readonly class?: string
  readonly children: ComponentChildren
}) {
  const shown = useStore(path)
  const isHere = to.every((segment, index) => shown[index] === segment)
  return (
    <a
      class={name}
      href={hrefOf(to)}
      aria-current={isHere ? 'page' : undefined}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
        event.preventDefault()
        go(to)
      }}
    >
      {children}
    </a>
  )
}
