/** The icons: one path each, drawn as lines of 1.6 pixels in a square of 24. */

const PATHS = {
  table: 'M3 5h18v14H3zM3 10h18M9 10v9',
  query: 'M4 6l5 6-5 6M12 18h8',
  token: 'M8 8l-4 4 4 4M16 8l4 4-4 4M13 6l-2 12',
  policy: 'M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6z',
  audit: 'M4 19V9M9 19V5M14 19v-7M19 19v-4',
  operations: 'M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2',
  search: 'M11 4a7 7 0 100 14 7 7 0 000-14zM16 16l5 5',
  eye: 'M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12zM12 9a3 3 0 100 6 3 3 0 000-6z',
  leave: 'M15 4h4v16h-4M10 8l-4 4 4 4M6 12h9',
  close: 'M6 6l12 12M18 6L6 18',
  key: 'M14 7a4 4 0 11-3 7l-7 7M7 17l2 2',
  back: 'M14 6l-6 6 6 6',
  down: 'M6 9l6 6 6-6',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
} as const

/** The name of an icon. */
export type IconName = keyof typeof PATHS

/** An icon. What it means is said by the text beside it, or by the label of its button. */
export function Icon({ of }: { readonly of: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[of]} />
    </svg>
  )
}
