/** The keys that work on every page, outside fields and dialogs. */

/** What the keys do. */
export interface Shortcuts {
  openPalette(): void
  openKeyList(): void
  /** Opens the page of a letter after G. Returns false if there is none. */
  openPage(key: string): boolean
}

/** Time in which a letter follows G, in milliseconds. */
const SEQUENCE_MS = 1200

/** Listens to the keys, until the returned function is called. */
export function listenToShortcuts(shortcuts: Shortcuts): () => void {
  let pressedG = Number.NEGATIVE_INFINITY
  const onKeyDown = (event: KeyboardEvent): void => {
    const key = event.key.toLowerCase()
    if ((event.metaKey || event.ctrlKey) && key === 'k' && !isIn(event, 'dialog')) {
      event.preventDefault()
      shortcuts.openPalette()
      return
    }
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return
    if (isIn(event, 'input, textarea, select, [contenteditable=true], dialog')) return
    const now = performance.now()
    const isSecond = now - pressedG < SEQUENCE_MS
    pressedG = key === 'g' ? now : Number.NEGATIVE_INFINITY
    if (isSecond && shortcuts.openPage(key)) event.preventDefault()
    else if (event.key === '?') shortcuts.openKeyList()
    else if (event.key === '/') focusLookUp(event)
  }
  addEventListener('keydown', onKeyDown)
  return () => removeEventListener('keydown', onKeyDown)
}

/** An editor in a shadow root is the first element of the path. */
function isIn(event: KeyboardEvent, selector: string): boolean {
  const [target] = event.composedPath()
  return target instanceof Element && target.closest(selector) !== null
}

/** The look-up box of the page, if it has one, has the attribute `data-lookup`. */
function focusLookUp(event: KeyboardEvent): void {
  const box = document.querySelector<HTMLInputElement>('[data-lookup]')
  if (box === null) return
  event.preventDefault()
  box.focus()
  box.select()
}
