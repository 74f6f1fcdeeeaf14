/** The mark of the product: a line of text, and one with a redaction bar. */

/** Draws the mark. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6" class="mark-ground" />
      <rect x="5" y="7" width="14" height="3.2" rx="1" />
      <rect x="5" y="13.8" width="8.4" height="3.2" rx="1" />
      <circle cx="17.2" cy="15.4" r="1.8" />
    </svg>
  )
}
