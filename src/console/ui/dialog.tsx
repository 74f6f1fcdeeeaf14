/** A dialog in the top layer: Escape closes it, and the focus returns to where it was. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

/** What a dialog is made of. */
export interface DialogProps {
  /** Its name for screen readers. */
  readonly label: string
  /** In the middle by default; at a cell, at the edge as a drawer, or at the top as the palette. */
  readonly kind?: 'pop' | 'drawer' | 'palette'
  /** The cell beside which it opens. On a narrow screen it is a sheet at the bottom. */
  readonly at?: DOMRect | undefined
  readonly children: ComponentChildren
  onClose(): void
}

/** Opens with its first drawing, and closes when it is no longer drawn. The element with `autofocus` gets the focus. */
export function Dialog({ label, kind, at, children, onClose }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = ref.current
    if (dialog === null) return
    const before = document.activeElement
    dialog.showModal()
    if (at !== undefined && innerWidth > NARROW) placeAt(dialog, at)
    return () => {
      dialog.close()
      if (before instanceof HTMLElement) before.focus({ preventScroll: true })
    }
  }, [])
  return (
    <dialog
      ref={ref}
      class={kind}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      // Not the click: text that is selected from the inside to the outside ends with one there.
      onMouseDown={({ target }) => {
        if (target === ref.current) onClose()
      }}
    >
      {children}
    </dialog>
  )
}

/** Width from which dialogs open at a cell, in pixels; as in shell.css. */
const NARROW = 760
const MARGIN = 12
const GAP = 6

function placeAt(dialog: HTMLDialogElement, { left, top, bottom }: DOMRect): void {
  const { offsetWidth, offsetHeight, style } = dialog
  const isBelow = bottom + GAP + offsetHeight + MARGIN <= innerHeight
  style.setProperty('--x', `${Math.max(MARGIN, Math.min(left, innerWidth - offsetWidth - MARGIN))}px`)
  style.setProperty('--y', `${isBelow ? bottom + GAP : Math.max(MARGIN, top - offsetHeight - GAP)}px`)
}
