/** What forms of dialogs share: their work is done once at a time, and why it failed is said. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { messageOf } from './failure.tsx'

/** Returns how a form is submitted. It is not ready while its work runs. */
export function useSubmit(isComplete: boolean, work: () => Promise<void>) {
  const [isBusy, setBusy] = useState(false)
  const [failed, setFailed] = useState('')
  const isReady = isComplete && !isBusy
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (!isReady) return
    setBusy(true)
    setFailed('')
    try {
      await work()
    } catch (error) {
      setFailed(messageOf(error))
    }
    setBusy(false)
  }
  return { submit, isReady, isBusy, failed }
}

/** Says why a form failed; its children if it did not. */
export function FormFailure({ failed, children }: { readonly failed: string; readonly children?: ComponentChildren }) {
  if (failed === '') return <>{children}</>
  return (
    <p class="note bad" role="alert">
      {failed}
    </p>
  )
}
