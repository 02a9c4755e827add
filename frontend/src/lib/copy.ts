// Copy buttons: `data-copy` holds the text, or `data-copy-from` names the element that does.
export function bindCopy(): void {
  document.addEventListener('click', (event) => {
    const button = (event.target as Element | null)?.closest<HTMLElement>('.copy');
    if (!button) return;
    const from = button.dataset['copyFrom'];
    const source = from ? document.querySelector(from) : null;
    const text = source ? ('value' in source ? String(source.value) : source.textContent ?? '') : button.dataset['copy'] ?? '';
    void write(text).then((done) => {
      const word = button.dataset['done'];
      if (!done || !word) return;
      const before = button.textContent;
      if (before === word) return;
      button.textContent = word;
      setTimeout(() => { button.textContent = before; }, 1500);
    });
  });
}

/** The clipboard API exists on secure origins only; elsewhere a selection is copied the old way. */
async function write(text: string): Promise<boolean> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const area = document.createElement('textarea');
  area.className = 'vh';
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}
