/** The palette: goes to a table or a page, or does what every page can do, by a few letters. */
import { useState } from 'preact/hooks'
import { Dialog } from '../ui/dialog.tsx'
import { forgetRevealed } from '../ui/revealed.ts'
import { shownPages } from './pages.ts'
import { go } from './router.ts'
import { type Session, signOut } from './session.ts'

/** One line of the palette. */
interface Entry {
  readonly name: string
  readonly hint: string
  run(): void
}

/** Asks where to go. */
export function Palette({ session, onHelp, onClose }: { readonly session: Session; onHelp(): void; onClose(): void }) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const found = entriesOf(session, onHelp).filter(({ name }) => name.toLowerCase().includes(text.trim().toLowerCase()))
  const run = (index: number): void => {
    onClose()
    found[index]?.run()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setAt(Math.max(0, Math.min(found.length - 1, at + step)))
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      run(at)
    }
  }
  return (
    <Dialog kind="palette" label="Go to" onClose={onClose}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length === 0 ? undefined : `palette-${at}`}
        aria-label="Go to a table, page or action"
        placeholder="Go to a table, page or action"
        autocomplete="off"
        autofocus
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id="palette-list" role="listbox" aria-label="Results">
        {found.map(({ name, hint }, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: The keys are those of the text field.
          <div
            role="option"
            id={`palette-${index}`}
            aria-selected={index === at}
            tabIndex={-1}
            onClick={() => run(index)}
            onMouseMove={() => setAt(index)}
            key={`${hint} ${name}`}
            ref={index === at ? scrollTo : null}
          >
            {name}
            <span class="faint">{hint}</span>
          </div>
        ))}
      </div>
      {found.length === 0 ? <p class="faint palette-none">Nothing is called that.</p> : null}
    </Dialog>
  )
}

function scrollTo(option: HTMLElement | null): void {
  option?.scrollIntoView({ block: 'nearest' })
}

function entriesOf({ caller, tables }: Session, onHelp: () => void): Entry[] {
  return [
    ...tables.map(({ name }) => ({ name, hint: 'table', run: () => go(['tables', name]) })),
    ...shownPages(caller).map(({ id, name }) => ({ name, hint: 'page', run: () => go([id]) })),
    { name: 'Hide revealed values', hint: 'Esc', run: forgetRevealed },
    { name: 'Keys', hint: '?', run: onHelp },
    { name: 'Sign out', hint: '', run: () => signOut() },
  ]
}
