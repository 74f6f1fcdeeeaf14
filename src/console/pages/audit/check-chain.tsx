/** The check of the chain, with a running count. It ends with the page, or at a press. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { announce } from '../../app/announce.ts'
import { performLines } from '../../app/api.ts'
import { messageOf } from '../../ui/failure.tsx'

/** A line of the answer. */
interface Line {
  readonly progress?: { readonly done: number; readonly total?: number }
  readonly result?: {
    readonly ok: boolean
    readonly eventCount: number
    readonly firstFailure?: { readonly chain: number; readonly sequence: number; readonly reason: string }
  }
  readonly error?: { readonly message: string }
}

interface Check {
  readonly text: string
  readonly mark: 'ok' | 'bad' | ''
}

function checkOf({ progress, result, error }: Line): Check {
  const count = (number: number): string => number.toLocaleString('en')
  if (error !== undefined) return { text: error.message, mark: 'bad' }
  if (result?.ok === true) return { text: `Chain whole: ${count(result.eventCount)} events checked`, mark: 'ok' }
  if (result !== undefined) {
    const { chain, sequence, reason } = result.firstFailure ?? { chain: 0, sequence: 0, reason: '' }
    return { text: `Chain broken at event ${sequence} of chain ${chain}: ${reason}`, mark: 'bad' }
  }
  const { done = 0, total } = progress ?? {}
  return { text: total === undefined ? `${count(done)} checked` : `${count(done)} of ${count(total)} checked`, mark: '' }
}

/** Draws the button, and what the check has found. */
export function CheckChain() {
  const [check, setCheck] = useState<Check | undefined>()
  const [isRunning, setRunning] = useState(false)
  const running = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  const run = async (): Promise<void> => {
    const abort = new AbortController()
    running.current = abort
    setRunning(true)
    let last: Check = { text: 'The check ended early.', mark: 'bad' }
    try {
      await performLines<Line>(
        'verifyAudit',
        {},
        (line) => {
          const check = checkOf(line)
          setCheck(check)
          if (line.progress === undefined) last = check
        },
        { signal: abort.signal },
      )
    } catch (error) {
      last = abort.signal.aborted ? { text: 'Check stopped', mark: '' } : { text: messageOf(error), mark: 'bad' }
    }
    setCheck(last)
    setRunning(false)
    announce(last.text)
  }
  return (
    <>
      {check === undefined ? null : <span class={`chip ${check.mark}`}>{check.text}</span>}
      <button type="button" class="button" onClick={() => (isRunning ? running.current?.abort() : void run())}>
        {isRunning ? 'Stop check' : 'Check chain'}
      </button>
    </>
  )
}
