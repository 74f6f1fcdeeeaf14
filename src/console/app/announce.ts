/** Short messages for the status line: what was done, such as a copy. Never a value. */
import { createStore } from './store.ts'

/** The message that is shown; empty for none. */
export const message = createStore('')

/** Time for which a message is shown, in milliseconds. */
const SHOWN_MS = 4000
let timer: ReturnType<typeof setTimeout> | undefined

/** Shows a message, which screen readers speak. */
export function announce(text: string): void {
  clearTimeout(timer)
  message.set(text)
  timer = setTimeout(() => message.set(''), SHOWN_MS)
}
