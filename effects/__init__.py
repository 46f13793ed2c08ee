"""The border, as data: what may be asked, every way it can be answered, and the ports that answer.

Reading order: ``transcript`` and ``record`` (what a run is made of), then a family a file, each with its orders, their
answers and its port: ``model``, ``tool``, ``journal``, ``feed``, ``clock``, ``lifecycle``; ``display`` for viewers;
``vocabulary`` for the two unions; ``codec`` for JSON; ``handed_in`` for what a program may hand in at all. Nothing here
decides anything about a run.
"""
