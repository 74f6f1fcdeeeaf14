/** Asks before what cannot be taken back, and does it: with the name typed where that is asked for. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from './dialog.tsx'
import { FormFailure, useSubmit } from './submit.tsx'

/** What is asked. */
export interface ConfirmProps {
  readonly title: string
  /** What the button says: what happens. */
  readonly action: string
  /** The text to type first. */
  readonly typed?: string
  readonly children: ComponentChildren
  run(): Promise<void>
  /** Called with true if it was refused: what was asked about may be another one now. */
  onClose(isRefused: boolean): void
}

/** Draws the dialog. It closes when it is done. */
export function Confirm({ title, action, typed, children, run, onClose }: ConfirmProps) {
  const [text, setText] = useState('')
  const { submit, isReady, failed } = useSubmit(typed === undefined || text === typed, async () => {
    await run()
    onClose(false)
  })
  const close = (): void => onClose(failed !== '')
  return (
    <Dialog label={title} onClose={close}>
      <form class="dialog confirm" onSubmit={submit}>
        <h2>{title}</h2>
        {children}
        {typed === undefined ? null : (
          <label class="field">
            <span>
              Type <b dir="auto">{typed}</b>
            </span>
            <input
              class="input"
              autofocus
              autocomplete="off"
              spellcheck={false}
              value={text}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          </label>
        )}
        <FormFailure failed={failed} />
        <div class="actions">
          <button type="button" class="button quiet" autofocus={typed === undefined} onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button danger" disabled={!isReady}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
