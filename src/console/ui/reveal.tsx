/** The reveal of one cell: a purpose is asked for, the vault records it, and the value is shown for 60 seconds. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { perform } from '../app/api.ts'
import { useStore } from '../app/store.ts'
import { Dialog } from './dialog.tsx'
import { Icon } from './icon.tsx'
import { isPurpose, PurposeField } from './purpose.tsx'
import { forgetRevealed, keepRevealed, revealedChanges, revealedCount } from './revealed.ts'
import { FormFailure, useSubmit } from './submit.tsx'

/** What is revealed, and where the dialog opens. */
export interface RevealProps {
  readonly table: string
  readonly id: string
  readonly column: string
  readonly at?: DOMRect | undefined
  onClose(): void
}

/** Asks for the purpose, and reveals the cell. */
export function RevealDialog({ table, id, column, at, onClose }: RevealProps) {
  const [purpose, setPurpose] = useState('')
  // What comes after the dialog was closed is not kept.
  const abort = useRef(new AbortController())
  useEffect(() => () => abort.current.abort(), [])
  const { submit, isReady, isBusy, failed } = useSubmit(isPurpose(purpose), async () => {
    const options = { purpose: purpose.trim(), signal: abort.current.signal }
    const { value } = await perform('reveal', { table, id, column }, options)
    keepRevealed({ table, id, column }, value)
    onClose()
  })
  return (
    <Dialog kind="pop" at={at} label={`Reveal ${column}`} onClose={onClose}>
      <form class="dialog" onSubmit={submit}>
        <h2>Reveal {column}</h2>
        <PurposeField value={purpose} onChange={setPurpose} />
        <FormFailure failed={failed}>
          <p class="faint">
            Your name, this cell, the time and your purpose go into the audit trail. The value hides again after 60 seconds.
          </p>
        </FormFailure>
        <div class="actions">
          <button type="button" class="button quiet" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button exposed" disabled={!isReady}>
            {isBusy ? 'Revealing…' : 'Reveal for 60 s'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** The button that hides what is revealed; nothing if nothing is. */
export function HideRevealed() {
  useStore(revealedChanges)
  const count = revealedCount()
  return count === 0 ? null : (
    <button type="button" class="button small exposed" onClick={forgetRevealed}>
      <Icon of="eye" />
      Hide {count} revealed
    </button>
  )
}
