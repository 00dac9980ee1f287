"""The forms of answers: what each field means and its unit. The description of the API is made of them.

Nothing is checked by them while a controller answers: the tests read every answer by its form.
"""
