/** One value as its cell says it is: plain, masked, redacted, not shown, null or revealed. Text is only ever a text node. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Cell, textOf } from './cell.ts'
import { REVEALED_MS } from './revealed.ts'

/** Dots that stand for hidden letters, at most: more push the visible ones out of narrow columns. */
const MAX_DOTS = 8

/** Draws a cell. */
export function Value({ cell }: { readonly cell: Cell }) {
  switch (cell.state) {
    case 'hidden':
      return (
        <span class="value-hidden">
          <span class="spoken">not shown in this record</span>
        </span>
      )
    case 'redacted':
      return (
        <span class="value-redacted">
          <span class="spoken">redacted</span>
        </span>
      )
    case 'null':
      return <span class="value value-null">null</span>
    case 'masked':
      return <Masked text={textOf(cell.value)} />
    case 'revealed':
      return <RevealedText {...cell} />
    case 'plain':
      if (cell.value === '') return <span class="value value-null">empty</span>
      return (
        <span class={typeof cell.value === 'number' ? 'value number' : 'value'} dir="auto">
          {seen(textOf(cell.value))}
        </span>
      )
  }
}

/** Characters that show nothing, or turn the text around them: with them two values look alike. */
const UNSEEN = /((?![\t\n\r])\p{Cc}|[\u00ad\u180e\u200b\u202a-\u202e\u2060-\u2069\ufeff])/u

/** Returns a text with the number of each such character in its place. */
function seen(text: string): ComponentChildren {
  if (!UNSEEN.test(text)) return text
  return text.split(UNSEEN).map((part) => (UNSEEN.test(part) ? <i class="unseen">{numberOf(part)}</i> : part))
}

function numberOf(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
}

function Masked({ text }: { readonly text: string }) {
  return (
    <span class="value value-masked" dir="auto">
      {text
        .split(/(\*+)/)
        .map((part) =>
          part.startsWith('*') ? <i aria-hidden="true">{'•'.repeat(Math.min(part.length, MAX_DOTS))}</i> : seen(part),
        )}
      <span class="spoken">, masked</span>
    </span>
  )
}

function RevealedText({ value, until }: { readonly value: unknown; readonly until: number }) {
  const [shownFor] = useState(() => `${Date.now() - until + REVEALED_MS}ms`)
  return (
    <span class="value value-revealed" dir="auto" style={{ '--shown-for': shownFor }}>
      {seen(textOf(value))}
      <Seconds until={until} />
      <span class="spoken">, revealed</span>
    </span>
  )
}

/** The seconds that are left, for callers who see no animation. */
function Seconds({ until }: { readonly until: number }) {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return (
    <small class="value-seconds" aria-hidden="true">
      {Math.max(0, Math.ceil((until - now) / 1000))} s
    </small>
  )
}
